// SPDX-License-Identifier: Apache-2.0
//
// bench_limits CORPUS MODEL CLUSTER TP PP DP GLOBAL_BATCH STEP: the caps that the search chooses,
// and the best of all vision caps x token caps in steps of STEP tokens that fit in memory, by the
// same prediction.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "omnibal/base/parallel.h"
#include "omnibal/cluster/cluster.h"
#include "omnibal/corpus/corpus.h"
#include "omnibal/cost/analytic.h"
#include "omnibal/model/model.h"
#include "omnibal/plan/data_plan.h"
#include "omnibal/plan/limit_search.h"

namespace omnibal {
namespace {

using plan::CapPrediction;

Result<plan::TrainingTarget> target_of(char** arguments) {
  plan::TrainingTarget target;
  OMNIBAL_ASSIGN(const model::ModelSpec model, model::load_model(arguments[2]));
  OMNIBAL_ASSIGN(target.cluster, cluster::load_cluster(arguments[3]));
  target.model_name = model.name;
  target.sizes = {std::atoll(arguments[4]), std::atoll(arguments[5]), std::atoll(arguments[6])};
  target.global_batch = std::atoll(arguments[7]);
  target.memory_bytes = target.cluster.usable_bytes();
  OMNIBAL_ASSIGN(target.profile,
                 cost::analytic_profile(model, target.cluster,
                                        {.tp = target.sizes.tp, .dp = target.sizes.dp}));
  return target;
}

/// Token caps upwards from the longest sample, with one vision cap, until none fits.
std::vector<CapPrediction> row_of(const plan::LimitProblem& problem, std::int64_t vision_cap,
                                  std::int64_t step) {
  std::vector<CapPrediction> row;
  const auto longest = static_cast<std::int64_t>(*std::ranges::max_element(problem.usable.tokens));
  for (std::int64_t tokens = (longest + step - 1) / step * step;; tokens += step) {
    const CapPrediction prediction = predict_caps(problem, vision_cap, tokens);
    if (!prediction.fits()) return row;
    row.push_back(prediction);
  }
}

/// All vision caps from the largest sample's on, until none fits.
std::vector<CapPrediction> full_grid(const plan::LimitProblem& problem, std::int64_t step) {
  constexpr std::int64_t kRowsAtOnce = 16;
  std::vector<CapPrediction> grid;
  std::int64_t vision_cap = *std::ranges::max_element(problem.usable.vision);
  for (bool fits = true; fits; vision_cap += kRowsAtOnce) {
    std::vector<std::vector<CapPrediction>> rows(kRowsAtOnce);
    parallel_for_each(rows.size(), 0, [&](std::size_t i) {
      rows[i] = row_of(problem, vision_cap + static_cast<std::int64_t>(i), step);
    });
    for (const auto& row : rows) {
      fits = !row.empty();
      grid.insert(grid.end(), row.begin(), row.end());
    }
  }
  return grid;
}

void print(const char* what, const CapPrediction& p, std::int64_t pairs, double seconds) {
  fmt::print("{:<10} {:>4} {:>6} {:>10.4f} {:>8.2f} {:>5} {:>5} {:>6.1f} {:>6} {:>8.2f}\n", what,
             p.vision_cap, p.token_cap, 1000 * p.seconds_per_sample, p.samples_per_pack,
             p.micro_batches, p.recomputed_layers, static_cast<double>(p.peak_bytes) / 1e9, pairs,
             seconds);
}

Status run(char** arguments) {
  OMNIBAL_ASSIGN(const plan::TrainingTarget target, target_of(arguments));
  OMNIBAL_ASSIGN(const corpus::LoadedCorpus loaded,
                 corpus::read_corpus({corpus::parse_input(arguments[1])}, {}, {}));
  const plan::LimitTask task{
      .samples = plan::columns(loaded.corpus), .target = target, .method = pack::Method::kAuto};
  using Clock = std::chrono::steady_clock;
  const auto seconds_since = [](Clock::time_point began) {
    return std::chrono::duration<double>(Clock::now() - began).count();
  };
  auto began = Clock::now();
  OMNIBAL_ASSIGN(const plan::LimitChoice choice, plan::choose_limits(task, {}));
  const double search_s = seconds_since(began);
  fmt::print("{:<10} {:>4} {:>6} {:>10} {:>8} {:>5} {:>5} {:>6} {:>6} {:>8}\n", "", "Q_v", "Q_t",
             "s/1000", "in pack", "M", "recmp", "GB", "pairs", "seconds");
  print("search", choice.best, choice.predictions, search_s);
  if (choice.paper) print("paper", *choice.paper, 1, 0);
  std::fflush(stdout);
  began = Clock::now();
  OMNIBAL_ASSIGN(const plan::LimitProblem problem, plan::limit_problem(task));
  const std::vector<CapPrediction> grid = full_grid(problem, std::atoll(arguments[8]));
  const auto best = std::ranges::min_element(grid, {}, &CapPrediction::seconds_per_sample);
  print("full grid", *best, static_cast<std::int64_t>(grid.size()), seconds_since(began));
  return {};
}

}  // namespace
}  // namespace omnibal

int main(int count, char** arguments) {
  if (count != 9) {
    fmt::print(stderr, "usage: {} CORPUS MODEL CLUSTER TP PP DP GLOBAL_BATCH STEP\n", arguments[0]);
    return 2;
  }
  const omnibal::Status status = omnibal::run(arguments);
  if (!status.ok()) fmt::print(stderr, "{}\n", omnibal::to_text(status.error()));
  return status.ok() ? 0 : 1;
}
