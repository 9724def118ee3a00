// SPDX-License-Identifier: Apache-2.0
//
// Random layer lists with their memory, a simulated step for them, and every answer by brute force.
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <vector>

#include "omnibal/base/philox.h"
#include "omnibal/cost/profile.h"
#include "omnibal/joint/joint.h"
#include "omnibal/metrics/stages.h"
#include "omnibal/simulate/pipeline.h"
#include "omnibal/simulate/stage_times.h"

namespace omnibal::joint {

inline constexpr double kNone = std::numeric_limits<double>::infinity();

/// A problem with all that its spans look at.
struct MadeProblem {
  cost::Profile profile;
  std::vector<cost::LayerCost> costs;
  std::vector<JointLayer> layers;
  schedule::Schedule schedule;
  simulate::CompiledSchedule compiled;

  JointProblem problem(std::optional<std::int64_t> limit_bytes) const {
    return {.layers = layers,
            .schedule = schedule.kind,
            .num_stages = schedule.num_stages,
            .num_micro_batches = schedule.num_micro_batches,
            .in_flight = in_flight(schedule),
            .memory_limit_bytes = limit_bytes,
            .chunks = schedule.num_stages / static_cast<std::int32_t>(schedule.ranks.size())};
  }

  /// Seconds of a step with these seconds of recomputation a stage.
  double step_s(const std::vector<std::int32_t>& cuts,
                const std::function<double(std::size_t stage, std::int32_t begin,
                                           std::int32_t end)>& recompute_s) const {
    auto times = simulate::PipelineTimes::zeros(schedule.num_stages, schedule.num_micro_batches);
    std::int32_t begin = 0;
    for (std::size_t s = 0; s <= cuts.size(); ++s) {
      const auto end = s < cuts.size() ? cuts[s] : static_cast<std::int32_t>(layers.size());
      double forward_s = 0;
      double backward_s = 0;
      double weight_grad_s = 0;
      for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
        forward_s += layers[i].forward_s;
        backward_s += layers[i].backward_s;
        weight_grad_s += layers[i].weight_grad_s;
      }
      const double more_s = recompute_s(s, begin, end);
      if (more_s == kNone) return kNone;
      for (std::int32_t m = 0; m < schedule.num_micro_batches; ++m) {
        const std::size_t cell = times.index(m, static_cast<std::int32_t>(s));
        times.forward_s[cell] = forward_s;
        times.backward_s[cell] = backward_s;
        times.weight_grad_s[cell] = weight_grad_s;
        times.recompute_s[cell] = more_s;
      }
      begin = end;
    }
    return simulate::makespan(compiled, times);
  }

  Evaluator evaluator() const {
    return [this](const partition::Cuts& cuts, const LayerChoices& choices) {
      return step_s(
          partition::first_layers(cuts), [&](std::size_t, std::int32_t begin, std::int32_t end) {
            double sum = 0;
            for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
              if (choices[i] == 0) continue;
              const auto choice = static_cast<std::size_t>(choices[i]) - 1;
              sum += layers[i].choices[choice].recompute_s;
            }
            return sum;
          });
    };
  }
};

inline void add_layers(PhiloxRng& rng, std::uint32_t num_layers, cost::Profile& profile) {
  const std::uint32_t num_kinds = rng.below(3) == 0 ? num_layers : 1 + rng.below(3);
  const bool whole = rng.below(2) == 0;
  std::vector<cost::LayerProfile> kinds(num_kinds);
  for (cost::LayerProfile& kind : kinds) {
    kind.kind = rng.below(2) == 0 ? model::LayerKind::kVisionBlock : model::LayerKind::kLlmBlock;
    kind.forward_s.constant = whole ? 1 + rng.below(4) : 0.2 + rng.uniform();
    kind.input_grad_s = kind.weight_grad_s = kind.recompute_s = kind.forward_s;
    if (rng.below(3) == 0) kind.recompute_s.constant *= 0.3 + rng.uniform();
    const std::uint32_t activation = 1 + rng.below(40);
    kind.activation_bytes.constant = activation;
    kind.recomputed_bytes.constant = rng.below(activation + 1);
    kind.static_bytes.constant = rng.below(30);
  }
  const std::uint32_t frozen = rng.below(3) == 0 ? rng.below(num_layers) : 0;
  for (std::uint32_t i = 0; i < num_layers; ++i) {
    // Runs of equal layers, as models have them, or any order.
    const std::uint32_t kind =
        rng.below(2) == 0 ? i * num_kinds / num_layers : rng.below(num_kinds);
    cost::LayerProfile& layer = profile.layers.emplace_back(kinds[kind]);
    layer.trainable = i >= frozen && rng.below(10) > 0;
  }
}

inline MadeProblem made_layers(PhiloxRng& rng, std::uint32_t num_layers) {
  MadeProblem made;
  add_layers(rng, num_layers, made.profile);
  made.costs = cost::evaluate(made.profile, made.profile.load);
  made.layers =
      joint_layers(recompute::bar_layers(made.profile, made.costs), made.costs, made.costs);
  return made;
}

/// Up to two more choices a layer, which rebuild all, a part, or more than the activation at once.
inline void give_choices(PhiloxRng& rng, MadeProblem& made) {
  for (cost::LayerProfile& layer : made.profile.layers) {
    const auto activation = static_cast<std::uint32_t>(layer.activation_bytes.constant);
    for (std::uint32_t more = rng.below(3); more > 0; --more) {
      cost::RecomputeChoice& choice = layer.recompute_choices.emplace_back();
      choice.name = more == 1 ? "one" : "other";
      choice.recompute_s.constant = rng.uniform();
      choice.kept_bytes.constant = rng.below(activation + 1);
      choice.transient_bytes = layer.activation_bytes;
      if (rng.below(3) > 0) choice.transient_bytes.constant = rng.below(2 * activation + 1);
    }
  }
  const auto choices = cost::evaluate_choices(made.profile, made.profile.load);
  add_named_choices(choices, choices, made.costs, made.costs, made.layers);
}

inline MadeProblem made_problem(PhiloxRng& rng, std::uint32_t num_layers,
                                schedule::Schedule schedule) {
  MadeProblem made = made_layers(rng, num_layers);
  made.schedule = std::move(schedule);
  made.compiled = *simulate::compile(made.schedule);
  return made;
}

inline MadeProblem made_problem(PhiloxRng& rng, std::uint32_t num_layers, std::int32_t num_stages,
                                std::int32_t num_micro_batches) {
  MadeProblem made = made_layers(rng, num_layers);
  const auto kind =
      rng.below(4) == 0 ? schedule::ScheduleKind::kGPipe : schedule::ScheduleKind::kOneFOneB;
  made.schedule = *schedule::make_schedule(kind, num_stages, num_micro_batches);
  made.compiled = *simulate::compile(made.schedule);
  return made;
}

/// Every way to cut, in lexicographic order.
inline void for_each_cuts(std::int32_t num_layers, std::int32_t num_stages,
                          const std::function<void(const std::vector<std::int32_t>&)>& visit) {
  std::vector<std::int32_t> cuts;
  const std::function<void()> extend = [&] {
    if (static_cast<std::int32_t>(cuts.size()) == num_stages - 1) return visit(cuts);
    for (std::int32_t at = cuts.empty() ? 1 : cuts.back() + 1; at < num_layers; ++at) {
      cuts.push_back(at);
      extend();
      cuts.pop_back();
    }
  };
  extend();
}

/// Least recomputation of layers [begin, end) that fits `limit`, over all choices of all layers;
/// kNone if none does. `least_peak` takes part in the least peak over all choices.
inline double least_recompute_s(const std::vector<JointLayer>& layers, std::int32_t begin,
                                std::int32_t end, std::int64_t in_flight, std::int64_t limit,
                                std::int64_t* least_peak) {
  double best = kNone;
  const std::function<void(std::int32_t, std::int64_t, std::int64_t, std::int64_t, double)> extend =
      [&](std::int32_t i, std::int64_t fixed, std::int64_t kept, std::int64_t transient, double s) {
        if (i == end) {
          const std::int64_t peak = fixed + in_flight * kept + transient;
          *least_peak = std::min(*least_peak, peak);
          if (peak <= limit) best = std::min(best, s);
          return;
        }
        const JointLayer& layer = layers[static_cast<std::size_t>(i)];
        const std::int64_t with = fixed + layer.static_bytes;
        extend(i + 1, with, kept + layer.activation_bytes, transient, s);
        for (const RecomputeChoice& choice : layer.choices) {
          extend(i + 1, with, kept + choice.kept_bytes,
                 std::max(transient, choice.transient_bytes.value_or(layer.activation_bytes)),
                 s + choice.recompute_s);
        }
      };
  extend(begin, 0, 0, 0, 0);
  return best;
}

/// Of all cuts with their best recomputation.
struct BruteForce {
  double least_bottleneck_s = kNone;
  double least_makespan_s = kNone;
  double makespan_at_least_bottleneck_s = kNone;  // the least of those
  std::int64_t least_limit = std::numeric_limits<std::int64_t>::max();
};

using CutsFilter = std::function<bool(const std::vector<std::int32_t>&)>;

inline BruteForce brute_force(
    const MadeProblem& made, std::int64_t limit,
    const CutsFilter& allowed = [](const auto&) { return true; }) {
  const auto num_layers = static_cast<std::int32_t>(made.layers.size());
  const std::vector<std::int64_t> in_flight = schedule::in_flight(made.schedule);
  const auto side = static_cast<std::size_t>(num_layers) + 1;
  struct Span {
    double recompute_s = kNone;
    std::int64_t least_peak = std::numeric_limits<std::int64_t>::max();
  };
  std::vector<Span> spans(in_flight.size() * side * side);
  const auto index = [&](std::size_t s, std::int32_t begin, std::int32_t end) {
    return (s * side + static_cast<std::size_t>(begin)) * side + static_cast<std::size_t>(end);
  };
  for (std::size_t s = 0; s < in_flight.size(); ++s) {
    const auto before = static_cast<std::int32_t>(s);  // stages, of a layer at least
    const auto behind = static_cast<std::int32_t>(in_flight.size() - s) - 1;
    for (std::int32_t begin = before; begin < num_layers - behind; ++begin) {
      for (std::int32_t end = begin + 1; end <= num_layers - behind; ++end) {
        Span& span = spans[index(s, begin, end)];
        span.recompute_s =
            least_recompute_s(made.layers, begin, end, in_flight[s], limit, &span.least_peak);
      }
    }
  }
  BruteForce brute;
  for_each_cuts(num_layers, made.schedule.num_stages, [&](const std::vector<std::int32_t>& cuts) {
    if (!allowed(cuts)) return;
    double bottleneck_s = 0;
    std::int64_t peak = 0;
    std::int32_t begin = 0;
    for (std::size_t s = 0; s <= cuts.size(); ++s) {
      const std::int32_t end = s < cuts.size() ? cuts[s] : num_layers;
      const Span& span = spans[index(s, begin, end)];
      double busy_s = span.recompute_s;
      for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
        busy_s += made.layers[i].forward_s + made.layers[i].backward_s;
      }
      bottleneck_s = std::max(bottleneck_s, busy_s);
      peak = std::max(peak, span.least_peak);
      begin = end;
    }
    brute.least_limit = std::min(brute.least_limit, peak);
    if (bottleneck_s == kNone) return;
    const double makespan_s = made.step_s(cuts, [&](std::size_t s, std::int32_t b, std::int32_t e) {
      return spans[index(s, b, e)].recompute_s;
    });
    brute.least_makespan_s = std::min(brute.least_makespan_s, makespan_s);
    if (bottleneck_s < brute.least_bottleneck_s - 1e-9)
      brute.makespan_at_least_bottleneck_s = kNone;
    brute.least_bottleneck_s = std::min(brute.least_bottleneck_s, bottleneck_s);
    if (bottleneck_s <= brute.least_bottleneck_s + 1e-9) {
      brute.makespan_at_least_bottleneck_s =
          std::min(brute.makespan_at_least_bottleneck_s, makespan_s);
    }
  });
  return brute;
}

}  // namespace omnibal::joint
