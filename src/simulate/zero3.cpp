// SPDX-License-Identifier: Apache-2.0
#include "omnibal/simulate/zero3.h"

#include <algorithm>

namespace omnibal::simulate {
namespace {

using Operation = Zero3Program::Operation;
using Loads = std::span<const std::vector<cost::Load>>;

/// The queue of collectives: one for all ranks, or one of each rank if they wait once a step.
class CollectiveQueue {
 public:
  CollectiveQueue(Zero3Waiting waiting, std::size_t num_ranks)
      : waiting_(waiting), free_(num_ranks, 0.0) {}

  /// Asked for at `asked[rank]`, takes `seconds`; gives when it has ended, by rank.
  const std::vector<double>& run(const std::vector<double>& asked, double seconds) {
    for (std::size_t rank = 0; rank < free_.size(); ++rank) {
      free_[rank] = std::max(free_[rank], asked[rank]);
    }
    if (waiting_ == Zero3Waiting::kEveryLayer) {
      std::ranges::fill(free_, *std::ranges::max_element(free_));
    }
    for (double& rank : free_) rank += seconds;
    return free_;
  }
  double end() const { return *std::ranges::max_element(free_); }

 private:
  Zero3Waiting waiting_;
  std::vector<double> free_;
};

/// One step: every rank runs the same operations, micro-batch after micro-batch.
class Zero3Run {
 public:
  Zero3Run(const Zero3Program& program, Loads loads)
      : program_(program),
        loads_(loads),
        num_operations_(program.operations.size() * loads[0].size()),
        prefetch_(std::min(static_cast<std::size_t>(program.prefetch), num_operations_)),
        queue_(program.waiting, loads.size()),
        clocks_(loads.size(), 0.0),
        arrived_(prefetch_ + 1, std::vector<double>(loads.size(), 0.0)) {}

  double seconds() {
    for (std::size_t i = 0; i < prefetch_; ++i) gather(i);
    for (std::size_t i = 0; i < num_operations_; ++i) {
      if (prefetch_ == 0) gather(i);
      start(i);
      if (prefetch_ > 0 && i + prefetch_ < num_operations_) gather(i + prefetch_);
      compute(i);
    }
    const double computed_s = *std::ranges::max_element(clocks_);
    return std::max(computed_s, queue_.end()) + program_.optimizer_s;
  }

 private:
  const Operation& at(std::size_t i) const {
    return program_.operations[i % program_.operations.size()];
  }
  /// The weights of operation i are asked for now. Those of the layer that ran just before are
  /// there.
  void gather(std::size_t i) {
    std::vector<double>& arrived = arrived_[i % arrived_.size()];
    const bool there = i > 0 && at(i - 1).layer == at(i).layer;
    if (at(i).gathers && !there) {
      arrived = queue_.run(clocks_, at(i).gather_s);
    } else {
      std::ranges::fill(arrived, 0.0);
    }
  }
  void start(std::size_t i) {
    const std::vector<double>& arrived = arrived_[i % arrived_.size()];
    for (std::size_t rank = 0; rank < clocks_.size(); ++rank) {
      clocks_[rank] = std::max(clocks_[rank], arrived[rank]);
    }
  }
  void compute(std::size_t i) {
    const Operation& operation = at(i);
    const std::size_t micro_batch = i / program_.operations.size();
    for (std::size_t rank = 0; rank < clocks_.size(); ++rank) {
      clocks_[rank] += operation.seconds.at(loads_[rank][micro_batch]);
    }
    if (operation.reduces) queue_.run(clocks_, operation.reduce_s);
  }

  const Zero3Program& program_;
  Loads loads_;
  std::size_t num_operations_;
  std::size_t prefetch_;
  CollectiveQueue queue_;
  std::vector<double> clocks_;                // by rank
  std::vector<std::vector<double>> arrived_;  // of the operations from this to the last asked for
};

Status check_loads(const Zero3Case& zero3, Loads loads) {
  const bool one_shape =
      static_cast<std::int64_t>(loads.size()) == zero3.num_ranks && !loads[0].empty() &&
      std::ranges::all_of(loads, [&](const auto& rank) { return rank.size() == loads[0].size(); });
  if (one_shape) return {};
  return Error(ErrorCode::kInvalidArgument, "there is not one load a rank and micro-batch")
      .at_key("loads")
      .with_value(static_cast<std::int64_t>(loads.size()))
      .with_limit(zero3.num_ranks);
}

/// One rank's loads that stand for all: the means over the ranks.
std::vector<cost::Load> mean_loads(Loads loads) {
  std::vector<cost::Load> mean(loads[0].size());
  const auto count = static_cast<double>(loads.size());
  for (const std::vector<cost::Load>& rank : loads) {
    for (std::size_t m = 0; m < mean.size(); ++m) {
      mean[m].vision_units += rank[m].vision_units / count;
      mean[m].tokens += rank[m].tokens / count;
      mean[m].token_pairs += rank[m].token_pairs / count;
    }
  }
  return mean;
}

cost::Load largest_load(Loads loads) {
  cost::Load largest;
  for (const std::vector<cost::Load>& rank : loads) {
    for (const cost::Load& load : rank) {
      largest.vision_units = std::max(largest.vision_units, load.vision_units);
      largest.tokens = std::max(largest.tokens, load.tokens);
      largest.token_pairs = std::max(largest.token_pairs, load.token_pairs);
    }
  }
  return largest;
}

Zero3Program free_collectives(Zero3Program program) {
  for (Operation& operation : program.operations) operation.gather_s = operation.reduce_s = 0;
  return program;
}

/// Recomputation of a micro-batch.
cost::LinearCost recomputation(const Zero3Case& zero3) {
  cost::LinearCost sum;
  const std::vector<cost::LayerTimes> times = cost::layer_times(zero3.profile);
  for (std::size_t i = 0; i < zero3.recompute.size(); ++i) {
    if (zero3.recompute[i]) sum += times[i].recompute_s;
  }
  return sum;
}

void fill_use(const Zero3Case& zero3, const Zero3Program& program, Loads loads, Zero3Step& step) {
  cost::LinearCost busy;
  for (const Operation& operation : program.operations) busy += operation.seconds;
  const cost::LinearCost recompute = recomputation(zero3);
  double busy_s = 0;
  for (const std::vector<cost::Load>& rank : loads) {
    RankUse& use = step.ranks.emplace_back();
    use.busy_s = program.optimizer_s;
    for (const cost::Load& load : rank) {
      use.busy_s += busy.at(load);
      step.breakdown.recompute_s += recompute.at(load);
    }
    use.idle_s = std::max(0.0, step.makespan_s - use.busy_s);
    busy_s += use.busy_s;
  }
  step.optimizer_s = program.optimizer_s * static_cast<double>(loads.size());
  step.breakdown.useful_s = busy_s - step.breakdown.recompute_s;
}

void break_down(const Zero3Program& program, Loads loads, Zero3Step& step) {
  const auto num_ranks = static_cast<double>(loads.size());
  const std::vector<std::vector<cost::Load>> mean{mean_loads(loads)};
  const double equal_ranks_s = std::min(step.makespan_s, makespan(program, mean));
  const double free_s = std::min(equal_ranks_s, makespan(free_collectives(program), mean));
  Breakdown& parts = step.breakdown;
  parts.rank_imbalance_s = (step.makespan_s - equal_ranks_s) * num_ranks;
  parts.communication_s = (equal_ranks_s - free_s) * num_ranks;
  parts.bubble_s = std::max(0.0, free_s * num_ranks - (parts.useful_s + parts.recompute_s));
}

}  // namespace

double makespan(const Zero3Program& program, Loads loads) {
  return Zero3Run(program, loads).seconds();
}

Result<Zero3Step> simulate_zero3(const Zero3Case& zero3, Loads loads) {
  OMNIBAL_ASSIGN(const Zero3Program program, compile_zero3(zero3));
  OMNIBAL_RETURN_IF_ERROR(check_loads(zero3, loads));
  OMNIBAL_RETURN_IF_ERROR(cost::check_bytes(zero3.profile, largest_load(loads), 1));
  Zero3Step step;
  step.makespan_s = makespan(program, loads);
  fill_use(zero3, program, loads, step);
  break_down(program, loads, step);
  for (const std::vector<cost::Load>& rank : loads) {
    std::int64_t peak = 0;
    for (const cost::Load& load : rank) {
      peak = std::max(peak, zero3_peak_bytes(zero3, program, load));
    }
    step.peak_bytes.push_back(peak);
  }
  return step;
}

}  // namespace omnibal::simulate
