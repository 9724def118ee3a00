// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "joint/made_problem.h"

namespace omnibal::joint {
namespace {

constexpr double kTolerance = 1e-9;

std::int32_t stages_up_to(PhiloxRng& rng, std::uint32_t most, std::uint32_t num_layers) {
  return static_cast<std::int32_t>(1 + rng.below(std::min(most, num_layers)));
}

/// A limit between what nothing fits and what everything does.
std::int64_t random_limit(PhiloxRng& rng, const BruteForce& open) {
  return open.least_limit - 3 + rng.below(static_cast<std::uint32_t>(open.least_limit / 2 + 8));
}

/// What is said about a plan is what its stages are.
void expect_true_to_itself(const MadeProblem& made, const JointPlan& plan, std::int64_t limit) {
  ASSERT_TRUE(partition::check_cuts(plan.cuts, static_cast<std::int32_t>(made.layers.size())).ok());
  const auto stages =
      metrics::summarize_stages(made.costs, partition::first_layers(plan.cuts),
                                to_mask(plan.choices), schedule::in_flight(made.schedule));
  for (const metrics::StageSummary& stage : stages) EXPECT_LE(stage.peak_bytes, limit);
  EXPECT_NEAR(metrics::partition_metrics(made.costs, stages).bottleneck_s, plan.bottleneck_s,
              kTolerance);
  EXPECT_EQ(made.evaluator()(plan.cuts, plan.choices), plan.makespan_s);
}

void expect_best(const JointAnswer& answer, const BruteForce& brute) {
  const Certificate& certificate = answer.certificate;
  EXPECT_TRUE(certificate.proven);
  EXPECT_NEAR(certificate.lower_bound_s, brute.least_bottleneck_s, kTolerance);
  EXPECT_NEAR(certificate.gap, answer.best.bottleneck_s / certificate.lower_bound_s - 1,
              kTolerance);
  EXPECT_LE(certificate.makespan_bound_s, brute.least_makespan_s + kTolerance);
  EXPECT_GE(answer.best.makespan_s, brute.least_makespan_s - kTolerance);
  EXPECT_LE(answer.best.makespan_s, brute.makespan_at_least_bottleneck_s + kTolerance);
}

TEST(JointProperty, CertificateIsExactAndTheAnswerTheBestOfAll) {
  PhiloxRng rng(41, RngStream::kTest);
  int feasible = 0;
  int fastest = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::uint32_t num_layers = 1 + rng.below(12);
    const std::int32_t p = stages_up_to(rng, 4, num_layers);
    const MadeProblem made =
        made_problem(rng, num_layers, p, 1 + static_cast<std::int32_t>(rng.below(12)));
    const std::int64_t limit = random_limit(rng, brute_force(made, 0));
    const BruteForce brute = brute_force(made, limit);
    const Result<JointAnswer> answer = solve(made.problem(limit), {}, made.evaluator());
    ASSERT_EQ(answer.ok(), brute.least_bottleneck_s < kNone) << i;
    if (!answer) {
      EXPECT_EQ(answer.error().code, ErrorCode::kMemoryInfeasible);
      EXPECT_EQ(std::get<std::int64_t>(answer.error().value), brute.least_limit) << i;
      continue;
    }
    SCOPED_TRACE(i);
    ++feasible;
    expect_true_to_itself(made, answer->best, limit);
    expect_best(*answer, brute);
    if (answer->best.makespan_s <= brute.least_makespan_s + kTolerance) ++fastest;
  }
  EXPECT_GT(feasible, 800);
  EXPECT_GE(fastest, feasible - 2);  // the path bound is nearly always the makespan
}

/// Peaks of the plan's stages, from the layers' own numbers.
void expect_within(const MadeProblem& made, const JointPlan& plan, std::int64_t limit) {
  const std::vector<std::int64_t> in_flight = schedule::in_flight(made.schedule);
  const auto num_layers = static_cast<std::int32_t>(made.layers.size());
  std::size_t s = 0;
  for (const partition::StageRange& range : partition::stage_ranges(plan.cuts, num_layers)) {
    std::int64_t fixed = 0;
    std::int64_t kept = 0;
    std::int64_t transient = 0;
    for (auto i = static_cast<std::size_t>(range.begin); i < static_cast<std::size_t>(range.end);
         ++i) {
      const JointLayer& layer = made.layers[i];
      fixed += layer.static_bytes;
      if (plan.choices[i] == 0) {
        kept += layer.activation_bytes;
        continue;
      }
      const RecomputeChoice& choice = layer.choices[static_cast<std::size_t>(plan.choices[i]) - 1];
      kept += choice.kept_bytes;
      transient = std::max(transient, choice.transient_bytes.value_or(layer.activation_bytes));
    }
    EXPECT_LE(fixed + in_flight[s++] * kept + transient, limit);
  }
}

TEST(JointProperty, SeveralChoicesALayer) {
  PhiloxRng rng(42, RngStream::kTest);
  int feasible = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::uint32_t num_layers = 1 + rng.below(12);
    const std::int32_t p = stages_up_to(rng, 4, num_layers);
    MadeProblem made =
        made_problem(rng, num_layers, p, 1 + static_cast<std::int32_t>(rng.below(6)));
    give_choices(rng, made);
    const std::int64_t limit = random_limit(rng, brute_force(made, 0));
    const BruteForce brute = brute_force(made, limit);
    const Result<JointAnswer> answer = solve(made.problem(limit), {}, made.evaluator());
    ASSERT_EQ(answer.ok(), brute.least_bottleneck_s < kNone) << i;
    if (!answer) continue;
    SCOPED_TRACE(i);
    ++feasible;
    expect_best(*answer, brute);
    expect_within(made, answer->best, limit);
  }
  EXPECT_GT(feasible, 800);
}

// Searches of a stage are cut off here: what comes out still fits and has its bound.
TEST(JointProperty, ManyLayersOfManyChoices) {
  PhiloxRng rng(47, RngStream::kTest);
  for (int i = 0; i < 12; ++i) {
    const std::uint32_t num_layers = 30 + rng.below(70);
    const auto p = static_cast<std::int32_t>(2 + rng.below(7));
    MadeProblem made = made_problem(rng, num_layers, p, 16);
    const Result<std::int64_t> whole = least_memory_limit(made.problem(0));
    ASSERT_TRUE(whole.ok());
    const std::int64_t limit = *whole + rng.below(static_cast<std::uint32_t>(*whole / 4 + 2));
    const Result<JointAnswer> without = solve(made.problem(limit), {}, made.evaluator());
    ASSERT_TRUE(without.ok());
    give_choices(rng, made);
    const Result<JointAnswer> answer = solve(made.problem(limit), {}, made.evaluator());
    ASSERT_TRUE(answer.ok()) << i;
    SCOPED_TRACE(i);
    expect_within(made, answer->best, limit);
    EXPECT_LE(answer->certificate.lower_bound_s, answer->best.bottleneck_s + kTolerance);
    EXPECT_LE(answer->certificate.lower_bound_s,
              without->certificate.lower_bound_s + kTolerance);  // more may be done
  }
}

/// Places that constraints leave, as a test of whole cuts.
CutsFilter filter_of(const Constraints& constraints) {
  return [&constraints](const std::vector<std::int32_t>& cuts) {
    return std::ranges::none_of(cuts, [&](std::int32_t cut) {
      return std::ranges::count(constraints.forbidden_cuts, LayerIndex{cut}) > 0 ||
             std::ranges::any_of(constraints.keep_together, [&](const auto& pair) {
               return std::min(pair.first, pair.second).value() < cut &&
                      cut <= std::max(pair.first, pair.second).value();
             });
    });
  };
}

TEST(JointProperty, ConstraintsHoldAndCostNoMoreThanTheyMust) {
  PhiloxRng rng(43, RngStream::kTest);
  int answered = 0;
  for (int i = 0; i < 500; ++i) {
    const std::uint32_t num_layers = 2 + rng.below(9);
    const std::int32_t p = stages_up_to(rng, 4, num_layers);
    const MadeProblem made =
        made_problem(rng, num_layers, p, 1 + static_cast<std::int32_t>(rng.below(9)));
    const auto random_layer = [&] {
      return LayerIndex{static_cast<std::int32_t>(rng.below(num_layers))};
    };
    Constraints constraints;
    for (std::uint32_t k = rng.below(3); k > 0; --k) {
      constraints.forbidden_cuts.push_back(random_layer());
    }
    if (rng.below(2) == 0) constraints.keep_together = {{random_layer(), random_layer()}};
    const std::int64_t limit = random_limit(rng, brute_force(made, 0));
    const BruteForce brute = brute_force(made, limit, filter_of(constraints));
    JointProblem problem = made.problem(limit);
    problem.constraints = constraints;
    const Result<JointAnswer> answer = solve(problem, {}, made.evaluator());
    ASSERT_EQ(answer.ok(), brute.least_bottleneck_s < kNone) << i;
    if (!answer) continue;
    SCOPED_TRACE(i);
    ++answered;
    EXPECT_TRUE(filter_of(constraints)(partition::first_layers(answer->best.cuts)));
    expect_true_to_itself(made, answer->best, limit);
    expect_best(*answer, brute);
  }
  EXPECT_GT(answered, 250);
}

/// The first N ViT and the first N LLM blocks of each stage, and everything before the LLM on stage
/// 0: least makespan over all N and cuts.
double least_makespan_of_megatron(const MadeProblem& made, std::int64_t limit) {
  const auto num_layers = static_cast<std::int32_t>(made.layers.size());
  std::int32_t first_llm = 0;
  while (made.layers[static_cast<std::size_t>(first_llm)].layer_class !=
         recompute::LayerClass::kLlm) {
    ++first_llm;
  }
  double least = kNone;
  for_each_cuts(num_layers, made.schedule.num_stages, [&](const std::vector<std::int32_t>& cuts) {
    if (!cuts.empty() && cuts.front() < first_llm) return;
    for (std::int32_t n = 0; n <= num_layers; ++n) {
      recompute::RecomputeMask mask(made.layers.size(), false);
      std::vector<std::int32_t> edges{0};
      edges.insert(edges.end(), cuts.begin(), cuts.end());
      edges.push_back(num_layers);
      for (std::size_t s = 0; s + 1 < edges.size(); ++s) {
        std::int32_t left[2] = {n, n};
        for (std::int32_t l = edges[s]; l < edges[s + 1]; ++l) {
          const JointLayer& layer = made.layers[static_cast<std::size_t>(l)];
          const auto of = static_cast<std::size_t>(layer.layer_class);
          if (layer.choices.empty() || left[of] == 0) continue;
          --left[of];
          mask[static_cast<std::size_t>(l)] = true;
        }
      }
      const auto stages =
          metrics::summarize_stages(made.costs, cuts, mask, schedule::in_flight(made.schedule));
      if (std::ranges::any_of(stages, [&](const auto& s) { return s.peak_bytes > limit; }))
        continue;
      least = std::min(least, made.evaluator()(partition::cuts_at(cuts),
                                               LayerChoices(mask.begin(), mask.end())));
    }
  });
  return least;
}

TEST(JointProperty, MegatronsRestrictionIsSearchedWhereBlocksAreAlike) {
  PhiloxRng rng(44, RngStream::kTest);
  int answered = 0;
  for (int i = 0; i < 300; ++i) {
    const std::uint32_t num_vision = rng.below(4);
    const std::uint32_t num_llm = 2 + rng.below(6);
    MadeProblem made = made_problem(rng, num_vision + num_llm, stages_up_to(rng, 3, num_llm),
                                    1 + static_cast<std::int32_t>(rng.below(9)));
    for (std::uint32_t l = 0; l < num_vision + num_llm; ++l) {
      const bool vision = l < num_vision;
      made.layers[l] = made.layers[vision ? 0 : num_vision];
      made.costs[l] = made.costs[vision ? 0 : num_vision];
      made.layers[l].layer_class =
          vision ? recompute::LayerClass::kVision : recompute::LayerClass::kLlm;
    }
    const std::int64_t limit = random_limit(rng, brute_force(made, 0));
    JointProblem problem = made.problem(limit);
    const Result<JointAnswer> free = solve(problem, {}, made.evaluator());
    problem.constraints.restriction = Restriction::kMegatron;
    const Result<JointAnswer> answer = solve(problem, {}, made.evaluator());
    const double least = least_makespan_of_megatron(made, limit);
    ASSERT_EQ(answer.ok(), least < kNone) << i;
    if (!answer) continue;
    ++answered;
    EXPECT_NEAR(answer->best.makespan_s, least, kTolerance) << i;
    EXPECT_LE(free->best.makespan_s, answer->best.makespan_s + kTolerance) << i;
  }
  EXPECT_GT(answered, 150);
}

/// As long as a model may be: never slower than other cuts with their best recomputation, and
/// nothing faster than the certificate says.
TEST(JointProperty, LongListsAreNeverSlowerThanAnySeed) {
  PhiloxRng rng(45, RngStream::kTest);
  for (int i = 0; i < 60; ++i) {
    const std::uint32_t num_layers = 20 + rng.below(181);
    const std::int32_t p = std::min(2 << rng.below(5), static_cast<std::int32_t>(num_layers));
    const MadeProblem made =
        made_problem(rng, num_layers, p, p * (1 + static_cast<std::int32_t>(rng.below(4))));
    const auto floor = static_cast<double>(*least_memory_limit(made.problem(std::nullopt)));
    const auto limit = static_cast<std::int64_t>(floor * (1 + rng.uniform()));
    std::vector<double> forward_s;
    for (const JointLayer& layer : made.layers) forward_s.push_back(layer.forward_s);
    JointOptions options;
    for (const auto& seed :
         {partition::partition_min_max(forward_s, p), partition::partition_anchor(forward_s, p),
          partition::partition_least_variance(forward_s, p),
          partition::partition_even_layers(static_cast<std::int32_t>(num_layers), p)}) {
      options.seeds.push_back(*seed);
    }
    const JointProblem problem = made.problem(limit);
    const Result<JointAnswer> answer = solve(problem, options, made.evaluator());
    ASSERT_TRUE(answer.ok()) << answer.error().message;
    SCOPED_TRACE(i);
    expect_true_to_itself(made, answer->best, limit);
    EXPECT_GE(answer->best.bottleneck_s, answer->certificate.lower_bound_s * (1 - kTolerance));
    EXPECT_GE(answer->best.makespan_s, answer->certificate.makespan_bound_s * (1 - kTolerance));
    for (const partition::Cuts& seed : options.seeds) {
      const Result<LayerChoices> choices = choose_recomputation(problem, seed);
      if (!choices) continue;
      EXPECT_LE(answer->best.makespan_s, made.evaluator()(seed, *choices) * (1 + kTolerance));
    }
  }
}

}  // namespace
}  // namespace omnibal::joint
