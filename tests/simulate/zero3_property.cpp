// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>

#include "omnibal/base/philox.h"
#include "omnibal/simulate/zero3.h"

namespace omnibal::simulate {
namespace {

using Loads = std::vector<std::vector<cost::Load>>;

struct RandomCase {
  cost::Profile profile;
  recompute::RecomputeMask mask;
  cluster::ClusterSpec cluster;
  Loads loads;
  std::int32_t prefetch = 0;
  Zero3Waiting waiting = Zero3Waiting::kEveryLayer;
  bool free_links = false;

  Zero3Case zero3() const {
    return {.profile = profile,
            .recompute = mask,
            .num_ranks = static_cast<std::int64_t>(loads.size()),
            .cluster = free_links ? nullptr : &cluster,
            .prefetch = prefetch,
            .waiting = waiting,
            .update = !free_links};
  }
};

RandomCase random_case(PhiloxRng& rng) {
  RandomCase made;
  const std::uint32_t num_layers = 1 + rng.below(6);
  const std::uint32_t num_frozen = rng.below(3);
  for (std::uint32_t i = 0; i < num_layers; ++i) {
    cost::LayerProfile& layer = made.profile.layers.emplace_back();
    layer.trainable = i >= num_frozen;
    layer.parameters = rng.below(4) == 0 && i > 0 ? 0 : 1 + rng.uniform();
    layer.forward_s = {0, 0, 1 + rng.uniform(), 0};
    layer.input_grad_s = layer.weight_grad_s = layer.recompute_s = layer.forward_s;
    made.mask.push_back(rng.below(2) == 0);
  }
  made.cluster.devices_per_node = 4;
  made.cluster.memory_bytes_per_s = 50;
  made.cluster.inner = {1 + 4 * rng.uniform(), 0.1};
  made.cluster.outer = {1 + rng.uniform(), 0.2};
  made.loads.resize(1 + rng.below(6));
  const std::uint32_t num_micro_batches = 1 + rng.below(4);
  for (std::vector<cost::Load>& rank : made.loads) {
    for (std::uint32_t m = 0; m < num_micro_batches; ++m) rank.push_back({0, 3 * rng.uniform(), 0});
  }
  made.prefetch = static_cast<std::int32_t>(rng.below(4));
  made.waiting = rng.below(2) == 0 ? Zero3Waiting::kEveryLayer : Zero3Waiting::kOnceAStep;
  made.free_links = rng.below(4) == 0;
  return made;
}

/// The rules of zero3.h as constraints on end times, relaxed until nothing moves. Nodes: operation
/// i, weights of i, gradients of i, each by rank.
class Relaxation {
 public:
  Relaxation(const Zero3Program& program, const Loads& loads) : program_(program), loads_(loads) {
    const std::size_t count = program.operations.size() * loads[0].size();
    for (auto* table : {&computed_, &gathered_, &reduced_}) {
      table->assign(loads.size(), std::vector<double>(count, 0.0));
    }
    // The queue as zero3.h words it: by the operation at whose start or end a collective is asked.
    const auto ahead = static_cast<std::size_t>(program.prefetch);
    for (std::size_t i = 0; i < std::min(ahead, count); ++i) enqueue(i, true);
    for (std::size_t i = 0; i < count; ++i) {
      if (i + ahead < count) enqueue(i + ahead, true);
      enqueue(i, false);
    }
  }

  double seconds() {
    for (moved_ = true; moved_;) {
      moved_ = false;
      for (std::size_t r = 0; r < loads_.size(); ++r) compute(r);
      for (std::size_t k = 0; k < queue_.size(); ++k) communicate(k);
    }
    double latest = 0;
    for (const auto* table : {&computed_, &gathered_, &reduced_}) {
      for (const std::vector<double>& rank : *table) {
        latest = std::max(latest, *std::ranges::max_element(rank));
      }
    }
    return latest + program_.optimizer_s;
  }

 private:
  struct Collective {
    std::size_t operation = 0;
    bool gathers = false;
  };
  const Zero3Program::Operation& at(std::size_t i) const {
    return program_.operations[i % program_.operations.size()];
  }
  void enqueue(std::size_t i, bool gathers) {
    if (gathers && (!at(i).gathers || (i > 0 && at(i).layer == at(i - 1).layer))) return;
    if (!gathers && !at(i).reduces) return;
    queue_.push_back({i, gathers});
  }
  void set(double& value, double to) {
    moved_ = moved_ || value != to;
    value = to;
  }
  void compute(std::size_t r) {
    for (std::size_t i = 0; i < computed_[r].size(); ++i) {
      const double before = i > 0 ? computed_[r][i - 1] : 0;
      const double load_s = at(i).seconds.at(loads_[r][i / program_.operations.size()]);
      set(computed_[r][i], std::max(before, gathered_[r][i]) + load_s);
    }
  }
  double asked_at(const Collective& collective, std::size_t r) const {
    const std::size_t i = collective.operation;
    if (!collective.gathers) return computed_[r][i];
    const auto ahead = static_cast<std::size_t>(program_.prefetch);
    if (i < ahead || i == 0) return 0;
    if (ahead == 0) return computed_[r][i - 1];
    const std::size_t j = i - ahead;  // at its start
    return std::max(j > 0 ? computed_[r][j - 1] : 0, gathered_[r][j]);
  }
  double ended_at(std::size_t k, std::size_t r) const {
    return (queue_[k].gathers ? gathered_ : reduced_)[r][queue_[k].operation];
  }
  void communicate(std::size_t k) {
    const Collective& collective = queue_[k];
    const auto start_of = [&](std::size_t r) {
      return std::max(k > 0 ? ended_at(k - 1, r) : 0.0, asked_at(collective, r));
    };
    double last = 0;
    for (std::size_t r = 0; r < loads_.size(); ++r) last = std::max(last, start_of(r));
    for (std::size_t r = 0; r < loads_.size(); ++r) {
      const double start = program_.waiting == Zero3Waiting::kEveryLayer ? last : start_of(r);
      const Zero3Program::Operation& operation = at(collective.operation);
      set((collective.gathers ? gathered_ : reduced_)[r][collective.operation],
          start + (collective.gathers ? operation.gather_s : operation.reduce_s));
    }
  }

  const Zero3Program& program_;
  const Loads& loads_;
  std::vector<Collective> queue_;
  std::vector<std::vector<double>> computed_, gathered_, reduced_;
  bool moved_ = false;
};

TEST(Zero3Property, EqualsConstraintsRelaxedUntilNothingMoves) {
  PhiloxRng rng(41, RngStream::kTest);
  for (int i = 0; i < 300; ++i) {
    const RandomCase made = random_case(rng);
    const Zero3Program program = *compile_zero3(made.zero3());
    EXPECT_NEAR(makespan(program, made.loads), Relaxation(program, made.loads).seconds(), 1e-9);
  }
}

TEST(Zero3Property, TheBreakdownSumsToMakespanTimesDevices) {
  PhiloxRng rng(42, RngStream::kTest);
  for (int i = 0; i < 300; ++i) {
    const RandomCase made = random_case(rng);
    const Zero3Step step = *simulate_zero3(made.zero3(), made.loads);
    const Breakdown& b = step.breakdown;
    const double device_seconds = step.makespan_s * static_cast<double>(made.loads.size());
    EXPECT_NEAR(b.useful_s + b.recompute_s + b.rank_imbalance_s + b.communication_s + b.bubble_s,
                device_seconds, 1e-9 * device_seconds);
    EXPECT_NEAR(b.bubble_s, 0, 1e-9 * device_seconds);
    EXPECT_EQ(b.stage_imbalance_s, 0);
    const double busiest = std::ranges::max(step.ranks, {}, &RankUse::busy_s).busy_s;
    EXPECT_GE(step.makespan_s, busiest * (1 - 1e-12));
  }
}

/// Waiting less, gathering earlier and free links never lengthen a step.
TEST(Zero3Property, FewerWaitsAreNeverSlower) {
  PhiloxRng rng(43, RngStream::kTest);
  for (int i = 0; i < 200; ++i) {
    RandomCase made = random_case(rng);
    made.free_links = true;
    made.waiting = Zero3Waiting::kEveryLayer;
    const auto seconds = [&] { return makespan(*compile_zero3(made.zero3()), made.loads); };
    const double waiting = seconds();
    ++made.prefetch;
    EXPECT_LE(seconds(), waiting + 1e-9);
    made.waiting = Zero3Waiting::kOnceAStep;
    EXPECT_LE(seconds(), waiting + 1e-9);
  }
}

}  // namespace
}  // namespace omnibal::simulate
