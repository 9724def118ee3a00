// SPDX-License-Identifier: Apache-2.0
#include "omnibal/plan/size_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "omnibal/base/parallel.h"
#include "plan/size_candidate.h"

namespace omnibal::plan {
namespace {

/// Candidates whose caps are chosen in full.
constexpr std::size_t kRefined = 4;
/// Few caps and few samples err by less: a candidate that much behind cannot win.
constexpr double kMargin = 1.08;
constexpr std::int64_t kLargestTp = 64;

std::vector<std::int64_t> divisors(std::int64_t number) {
  std::vector<std::int64_t> found;
  for (std::int64_t d = 1; d <= number / d; ++d) {
    if (number % d != 0) continue;
    found.push_back(d);
    if (d != number / d) found.push_back(number / d);
  }
  std::ranges::sort(found);
  return found;
}

bool is_asked(const std::optional<std::int64_t>& given, std::int64_t size) {
  return !given || *given == size;
}

/// All sizes that multiply to the number of devices, tensor groups inside a node.
std::vector<cluster::ParallelSizes> all_sizes(const SizeTask& task) {
  const SizeQuestion& asked = task.asked;
  const auto num_layers = static_cast<std::int64_t>(task.model.layers.size());
  std::vector<cluster::ParallelSizes> sizes;
  for (const std::int64_t tp : divisors(asked.gpus)) {
    if (!is_asked(asked.tp, tp) || tp > kLargestTp) continue;
    for (const std::int64_t pp : divisors(asked.gpus / tp)) {
      const cluster::ParallelSizes one{tp, pp, asked.gpus / tp / pp};
      if (!is_asked(asked.pp, pp) || !is_asked(asked.dp, one.dp)) continue;
      if (pp > num_layers && !asked.pp) continue;
      if (cluster::check_sizes(one, asked.gpus, task.cluster)) sizes.push_back(one);
    }
  }
  return sizes;
}

Error no_sizes(const SizeTask& task) {
  const SizeQuestion& asked = task.asked;
  // With all sizes given, or two of them, the check of those says what is wrong.
  const std::int64_t tp = asked.tp.value_or(1);
  const std::int64_t pp = asked.pp.value_or(1);
  const std::int64_t dp = asked.dp.value_or(std::max<std::int64_t>(1, asked.gpus / tp / pp));
  const Status status = cluster::check_sizes({tp, pp, dp}, asked.gpus, task.cluster);
  if (!status) return status.error();
  return Error(ErrorCode::kSizesDoNotDivide,
               fmt::format("no tp, pp and dp multiply to {} GPUs with what is given", asked.gpus))
      .at_key("--gpus")
      .with_value(asked.gpus);
}

/// Whether steps of the global batch can be formed on this many ranks.
Status check_batch(const SizeTask& task, const cluster::ParallelSizes& sizes) {
  PlanRequest request = task.request;
  request.sizes = sizes;
  const Result<std::int64_t> micro_batches = micro_batches_of(request);
  return micro_batches ? Status{} : Status{micro_batches.error()};
}

bool better(const SizeCandidate& a, const SizeCandidate& b) {
  return std::tie(a.gpu_days, a.sizes.tp, a.sizes.pp) <
         std::tie(b.gpu_days, b.sizes.tp, b.sizes.pp);
}

void add_refused(const cluster::ParallelSizes& sizes, const Error& why, SizeChoice& choice) {
  choice.refused.push_back({.sizes = sizes, .prediction = {}, .shares = {}, .reason = why.message});
}

/// First look at all sizes; the error of the last that does not fit if none does.
Result<SizeChoice> first_look(const SizeTask& task, const Progress& progress) {
  const std::vector<cluster::ParallelSizes> sizes = all_sizes(task);
  if (sizes.empty()) return no_sizes(task);
  report(progress, "choosing sizes", 0, static_cast<std::int64_t>(sizes.size()));
  std::vector<std::optional<Result<SizeCandidate>>> made(sizes.size());
  parallel_for_each(sizes.size(), task.request.threads, [&](std::size_t i) {
    const Status batch = check_batch(task, sizes[i]);
    made[i] = batch ? predict_quickly(task, sizes[i]) : Result<SizeCandidate>(batch.error());
  });
  SizeChoice choice{.gpus = task.asked.gpus, .ranked = {}, .refused = {}};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (*made[i]) {
      choice.ranked.push_back(**std::move(made[i]));
    } else {
      add_refused(sizes[i], made[i]->error(), choice);
    }
  }
  if (choice.ranked.empty()) return made.back()->error();
  std::ranges::sort(choice.ranked, better);
  return choice;
}

}  // namespace

Result<SizeChoice> choose_sizes(const SizeTask& task, const Progress& progress) {
  OMNIBAL_ASSIGN(SizeChoice choice, first_look(task, progress));
  const double worth = kMargin * choice.best().gpu_days;
  const std::size_t refined = std::min(kRefined, choice.ranked.size());
  for (std::size_t i = 0; i < refined && choice.ranked[i].gpu_days <= worth; ++i) {
    report(progress, "choosing caps of the best sizes", static_cast<std::int64_t>(i),
           static_cast<std::int64_t>(refined));
    Result<SizeCandidate> full = predict_in_full(task, choice.ranked[i].sizes);
    if (full) choice.ranked[i] = *std::move(full);
  }
  std::ranges::sort(choice.ranked, better);
  explain(choice.ranked);
  return choice;
}

}  // namespace omnibal::plan
