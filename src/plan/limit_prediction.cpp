// SPDX-License-Identifier: Apache-2.0
#include "plan/limit_prediction.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "omnibal/base/philox.h"
#include "omnibal/cost/launch_overhead.h"
#include "omnibal/metrics/occupancy.h"
#include "omnibal/plan/epoch.h"
#include "omnibal/steps/step_table.h"
#include "plan/prediction.h"
#include "plan/tight_cuts.h"

namespace omnibal::plan {
namespace {

using Samples = LimitProblem::Samples;

constexpr std::int64_t kDrawn = 32768;
constexpr std::int64_t kMostDrawn = kDrawn * 8;
constexpr std::int64_t kDrawnPerRank =
    64;                             // so that a step of many ranks has several micro-batches
constexpr std::int64_t kFewOf = 8;  // one of so many drawn ones

/// One of each of `count` equal parts.
Samples draw(const Samples& samples, std::int64_t count, std::uint64_t seed,
             std::uint32_t substream) {
  count = std::min(count, samples.size());
  PhiloxRng rng(seed, RngStream::kLimitSample, substream);
  Samples drawn;
  for (std::int64_t part = 0; part < count; ++part) {
    const std::int64_t begin = samples.size() * part / count;
    const std::int64_t end = samples.size() * (part + 1) / count;
    const auto i =
        static_cast<std::size_t>(begin + rng.below(static_cast<std::uint32_t>(end - begin)));
    drawn.vision.push_back(samples.vision[i]);
    drawn.tokens.push_back(samples.tokens[i]);
  }
  return drawn;
}

/// Caps that were not given as wide as caps can be.
pack::PackLimits widest_limits(const CapQuestion& asked) {
  return asked.rules.at(asked.vision_cap.value_or(pack::kLargestCap),
                        asked.token_cap.value_or(pack::kLargestCap));
}

Samples usable_samples(const LimitTask& task) {
  const CapQuestion& asked = task.asked;
  const metrics::PackCaps caps = widest_limits(asked).caps();
  Samples usable;
  for (std::size_t i = 0; i < task.samples.tokens.size(); ++i) {
    const std::uint32_t vision = task.samples.vision[i];
    const std::uint32_t tokens = task.samples.tokens[i];
    if (vision > caps.vision_units || tokens > caps.tokens) continue;
    if (tokens == 0 && !asked.rules.allow_empty) continue;
    usable.vision.push_back(vision);
    usable.tokens.push_back(tokens);
  }
  return usable;
}

cost::Load mean_of(const Samples& samples) {
  cost::Load sum;
  for (std::size_t i = 0; i < samples.tokens.size(); ++i) {
    const double tokens = samples.tokens[i];
    sum.vision_units += samples.vision[i];
    sum.tokens += tokens;
    sum.token_pairs += tokens * tokens;
  }
  const auto count = static_cast<double>(samples.size());
  return {sum.vision_units / count, sum.tokens / count, sum.token_pairs / count};
}

/// What packs leave of the scarcer of both caps.
double room_left(const std::vector<metrics::PackLoad>& loads, const pack::PackLimits& limits) {
  const metrics::Fill fill = metrics::fill(loads, limits.caps());
  return 1 - std::max(fill.vision, fill.tokens);
}

/// Packs of a method, quickly, since hundreds of pairs are packed. ISF stands for auto and
/// patterns, which make a few fewer packs in many times its time, but where it leaves much room:
/// there best fit does better, or neither can. Padded methods know no caps: ISF too.
pack::Grouping pack_quickly(const LimitTask& task, const metrics::SampleColumns& samples,
                            std::span<const std::uint32_t> accepted,
                            const pack::PackLimits& limits) {
  constexpr double kMuchRoom = 0.08;
  const auto pack_by = [&](pack::Method method) {
    return pack::group_samples(method, samples, accepted, {.limits = limits, .seed = task.seed});
  };
  const bool slow = task.method == pack::Method::kAuto || task.method == pack::Method::kPatterns;
  if (!slow && pack::respects_caps(task.method)) return pack_by(task.method);
  pack::Grouping isf = pack_by(pack::Method::kIsf);
  if (!slow || room_left(isf.loads(samples), limits) <= kMuchRoom) return isf;
  pack::Grouping best_fit = pack_by(pack::Method::kBestFit);
  return best_fit.packs.size() < isf.packs.size() ? best_fit : isf;
}

/// Packs of drawn samples, in steps as a plan forms them.
struct Steps {
  std::int64_t num_samples = 0;  // in the steps
  std::vector<metrics::PackLoad> loads;
  steps::StepTable table;
};

/// Whole steps of at most `micro_batches`, as far as the packs go; packs that fill none are left
/// out. Fewer packs than ranks make one step with ranks that idle.
Result<Steps> form_whole_steps(const pack::Packs& packs, std::vector<metrics::PackLoad> loads,
                               const LimitTask& task, std::int64_t micro_batches) {
  const std::int64_t dp = task.target.sizes.dp;
  const std::int64_t rows = packs.size() / dp;
  const steps::StepOptions options{
      .dp = dp,
      .micro_batches = std::clamp<std::int64_t>(rows, 1, std::min(micro_batches, kMostSimulated)),
      .window = task.window,
      .tail = rows > 0 ? steps::Tail::kDrop : steps::Tail::kZeroWeight,
      .seed = task.seed,
      .forward = cost::total_forward(task.target.profile)};
  Steps formed{.num_samples = 0, .loads = std::move(loads), .table = {}};
  OMNIBAL_ASSIGN(formed.table, steps::form_steps(formed.loads, options));
  for (const std::int64_t pack : formed.table.pack_ids) {
    if (pack == steps::kZeroWeightPack) continue;
    formed.num_samples += static_cast<std::int64_t>(packs.view()[pack].size());
  }
  return formed;
}

/// Seconds that a step grows by with one micro-batch more: those of the busiest pipeline rank of
/// the busiest data-parallel one.
double seconds_of_micro_batch(const Steps& steps, const StepPipeline& pipeline) {
  const auto dp = static_cast<std::size_t>(steps.table.dp);
  const std::vector<simulate::StageCost>& stages = pipeline.stages;
  const auto ranks = static_cast<std::size_t>(pipeline.schedule.num_ranks);
  std::vector<double> busy(dp * ranks, 0.0);
  for (std::size_t i = 0; i < steps.table.pack_ids.size(); ++i) {
    const std::int64_t pack = steps.table.pack_ids[i];
    if (pack == steps::kZeroWeightPack) continue;
    const cost::Load load = metrics::to_load(steps.loads[static_cast<std::size_t>(pack)]);
    for (std::size_t s = 0; s < stages.size(); ++s) {
      const auto rank = static_cast<std::size_t>(pipeline.schedule.stage_rank[s]);
      busy[i % dp * ranks + rank] += stages[s].forward_s.at(load) + stages[s].backward_s.at(load) +
                                     stages[s].recompute_s.at(load);
    }
  }
  const auto rows = static_cast<double>(steps.table.num_steps * steps.table.micro_batches);
  return *std::ranges::max_element(busy) / rows;
}

Result<schedule::Schedule> schedule_for(const LimitTask& task, std::int64_t micro_batches) {
  const TrainingTarget& target = task.target;
  return schedule::make_schedule(
      target.schedule, static_cast<std::int32_t>(target.sizes.pp) * target.chunks,
      static_cast<std::int32_t>(micro_batches), {.chunks = target.chunks});
}

/// What the steps of a prediction run through.
Result<StepPipeline> pipeline_of(const LimitProblem& problem, const PipelineChoice& choice,
                                 std::int64_t micro_batches) {
  const TrainingTarget& target = problem.task.target;
  OMNIBAL_ASSIGN(const schedule::Schedule schedule, schedule_for(problem.task, micro_batches));
  OMNIBAL_ASSIGN(simulate::CompiledSchedule compiled, simulate::compile(schedule));
  StepPipeline pipeline{
      .schedule = std::move(compiled),
      .stages = simulate::stage_costs(problem.timed, choice.cuts, choice.recompute),
      .links = problem.links};
  if (target.free_links) return pipeline;
  OMNIBAL_ASSIGN(pipeline.end,
                 timed_end({target.profile, choice.cuts, schedule, target.cluster, target.sizes}));
  return pipeline;
}

/// Of a step with exactly the global batch, as if micro-batches could be parts of one: else caps
/// would win that happen to round the batch up. Packs so large that a single micro-batch of them is
/// more than the batch gain nothing by the excess.
Result<double> seconds_per_sample(const LimitProblem& problem, const Steps& steps,
                                  const PipelineChoice& choice) {
  const TrainingTarget& target = problem.task.target;
  OMNIBAL_ASSIGN(const StepPipeline pipeline,
                 pipeline_of(problem, choice, steps.table.micro_batches));
  const std::vector<double> seconds = step_seconds(pipeline, steps.table, steps.loads, 1);
  const auto num_steps = static_cast<double>(seconds.size());
  const double step_s = std::accumulate(seconds.begin(), seconds.end(), 0.0) / num_steps;
  const double samples = static_cast<double>(steps.num_samples) / num_steps;
  const auto simulated = static_cast<double>(steps.table.micro_batches);
  const double in_batch =
      std::max(1.0, static_cast<double>(target.global_batch) / samples * simulated);
  const double more_s = (in_batch - simulated) * seconds_of_micro_batch(steps, pipeline);
  return (step_s + more_s) / static_cast<double>(target.global_batch);
}

Status predict_into(const LimitProblem& problem, const Samples& drawn, CapPrediction& prediction) {
  const LimitTask& task = problem.task;
  const pack::PackLimits limits = task.asked.rules.at(prediction.vision_cap, prediction.token_cap);
  const metrics::SampleColumns samples = drawn.columns();
  OMNIBAL_ASSIGN(const pack::Admission admission,
                 pack::admit(samples, limits, {.allow_empty = task.asked.rules.allow_empty}));
  const pack::Grouping grouping = pack_quickly(task, samples, admission.accepted, limits);
  const auto in_pack =
      static_cast<double>(admission.accepted.size()) / static_cast<double>(grouping.packs.size());
  OMNIBAL_ASSIGN(const FittedPipeline fitted, fit_pipeline(problem, limits, in_pack));
  OMNIBAL_ASSIGN(const Steps steps, form_whole_steps(grouping.packs, grouping.loads(samples), task,
                                                     fitted.micro_batches));
  OMNIBAL_ASSIGN(prediction.seconds_per_sample, seconds_per_sample(problem, steps, fitted.choice));
  prediction.micro_batches = fitted.micro_batches;
  prediction.samples_per_pack = in_pack;
  prediction.peak_bytes = fitted.peak_bytes;
  prediction.recomputed_layers = std::ranges::count(fitted.choice.recompute, true);
  prediction.recompute_share = fitted.recompute_share;
  prediction.cuts = fitted.choice.cuts;
  return {};
}

}  // namespace

std::int64_t round_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

metrics::PackCaps smallest_caps(const CapQuestion& asked, std::int64_t vision,
                                std::int64_t tokens) {
  const std::int64_t multiple = asked.rules.token_multiple;
  return {asked.vision_cap.value_or(std::max<std::int64_t>(1, vision)),
          asked.token_cap.value_or(round_up(std::max<std::int64_t>(1, tokens), multiple))};
}

Result<LimitProblem> limit_problem(const LimitTask& task) {
  LimitProblem problem{task, usable_samples(task), {}, {}, {}, {}, {}, {}, nullptr};
  if (problem.usable.size() == 0) {  // admission says which sample, and why
    return pack::admit(task.samples, widest_limits(task.asked),
                       {.allow_empty = task.asked.rules.allow_empty})
        .error();
  }
  const std::int64_t wanted = std::clamp(kDrawnPerRank * task.target.sizes.dp, kDrawn, kMostDrawn);
  problem.drawn = draw(problem.usable, wanted, task.seed, 0);
  problem.few = draw(problem.drawn, wanted / kFewOf, task.seed, 1);
  problem.mean = mean_of(problem.usable);
  problem.timed = cost::with_launch_overhead(task.target.profile);
  problem.holding_all = smallest_caps(task.asked, std::ranges::max(problem.usable.vision),
                                      std::ranges::max(problem.usable.tokens));
  if (!task.target.free_links) {
    OMNIBAL_ASSIGN(const schedule::Schedule schedule, schedule_for(task, 1));
    problem.links = links_of_ranks(task.target.cluster, task.target.sizes, schedule);
  }
  if (!fits_by_time(problem, problem.holding_all)) {
    problem.tight = std::make_shared<TightCuts>(problem.holding_all);
  }
  return problem;
}

CapPrediction predict_with(const LimitProblem& problem, const LimitProblem::Samples& drawn,
                           std::int64_t vision_cap, std::int64_t token_cap) {
  const CapPrediction none{.vision_cap = vision_cap, .token_cap = token_cap};
  CapPrediction prediction = none;
  return predict_into(problem, drawn, prediction) ? prediction : none;
}

Result<CapPrediction> predict_or_say_why(const LimitProblem& problem, std::int64_t vision_cap,
                                         std::int64_t token_cap) {
  CapPrediction prediction{.vision_cap = vision_cap, .token_cap = token_cap};
  const Status predicted = predict_into(problem, problem.drawn, prediction);
  if (predicted) return prediction;
  if (predicted.error().code == ErrorCode::kMemoryInfeasible) {
    OMNIBAL_RETURN_IF_ERROR(check_least_memory(problem, {vision_cap, token_cap}));
  }
  return predicted.error();
}

CapPrediction predict_caps(const LimitProblem& problem, std::int64_t vision_cap,
                           std::int64_t token_cap) {
  return predict_with(problem, problem.drawn, vision_cap, token_cap);
}

}  // namespace omnibal::plan
