// SPDX-License-Identifier: Apache-2.0
#include "omnibal/plan/size_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <span>
#include <tuple>
#include <variant>

#include "omnibal/base/parallel.h"
#include "plan/size_candidate.h"

namespace omnibal::plan {
namespace {

/// Candidates whose caps are chosen in full.
constexpr std::size_t kRefined = 4;
/// Few caps and few samples err by less: a candidate that much behind cannot win.
constexpr double kWorthRefining = 1.08;
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

bool better_size(const SizeCandidate& a, const SizeCandidate& b) {
  const auto key = [](const SizeCandidate& one) {
    return std::tie(one.rejected, one.gpu_days, one.sizes.tp, one.sizes.pp, one.schedule.kind,
                    one.schedule.chunks);
  };
  return key(a) < key(b);
}

/// Predicts all shapes and adds them to `choice`, best first; the errors of those that do not fit.
std::vector<Error> look_at(const SizeTask& task, const std::vector<RunShape>& shapes,
                           SizeChoice& choice) {
  std::vector<std::optional<Result<SizeCandidate>>> made(shapes.size());
  parallel_for_each(shapes.size(), task.request.threads, [&](std::size_t i) {
    const Status batch = check_batch(task, shapes[i].sizes);
    made[i] = batch ? predict_quickly(task, shapes[i]) : Result<SizeCandidate>(batch.error());
  });
  std::vector<Error> errors;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (*made[i]) {
      choice.ranked.push_back(**std::move(made[i]));
      continue;
    }
    errors.push_back(made[i]->error());
    SizeCandidate& refused = choice.refused.emplace_back();
    refused.sizes = shapes[i].sizes;
    refused.schedule = shapes[i].schedule;
    refused.reason = errors.back().message;
  }
  std::ranges::sort(choice.ranked, better_size);
  return errors;
}

/// Sizes whose time without what the first schedule leaves idle is less than the best one's, and
/// sizes with which not all samples fit: through the other schedules.
std::vector<RunShape> with_other_schedules(const SizeTask& task, const SizeChoice& first) {
  std::vector<RunShape> shapes;
  const auto add = [&](const cluster::ParallelSizes& sizes) {
    for (std::size_t i = 1; i < task.asked.schedules.size() && sizes.pp > 1; ++i) {
      shapes.push_back({sizes, task.asked.schedules[i]});
    }
  };
  for (const SizeCandidate& candidate : first.ranked) {
    if (candidate.rejected > 0 ||
        candidate.gpu_days * (1 - candidate.shares.idle) < first.best().gpu_days) {
      add(candidate.sizes);
    }
  }
  for (const SizeCandidate& candidate : first.refused) add(candidate.sizes);
  return shapes;
}

/// Where none fits: that which needs least memory, and which sizes those are.
Error least_shortage(std::vector<Error> errors, const std::vector<SizeCandidate>& refused) {
  constexpr std::int64_t kNoBytes = std::numeric_limits<std::int64_t>::max();
  const auto needed = [&](const Error& error) {
    const auto* bytes = std::get_if<std::int64_t>(&error.value);
    const bool of_memory = error.code == ErrorCode::kMemoryInfeasible && bytes != nullptr;
    return of_memory ? *bytes : kNoBytes;
  };
  const auto least = std::ranges::min_element(errors, {}, needed);
  if (errors.size() == 1 || needed(*least) == kNoBytes) return std::move(errors.back());
  const SizeCandidate& of = refused[static_cast<std::size_t>(least - errors.begin())];
  least->message +=
      fmt::format(" with tp {}, pp {}, dp {} and schedule {}, of {} looked at the least",
                  of.sizes.tp, of.sizes.pp, of.sizes.dp, to_text(of.schedule), errors.size());
  return std::move(*least);
}

/// A look at all sizes; an error if none fits.
Result<SizeChoice> first_look(const SizeTask& task, const Progress& progress) {
  const std::vector<cluster::ParallelSizes> sizes = all_sizes(task);
  if (sizes.empty()) return no_sizes(task);
  report(progress, "choosing sizes", 0, static_cast<std::int64_t>(sizes.size()));
  const ScheduleSpec schedule = task.asked.schedules.empty()
                                    ? ScheduleSpec{task.request.schedule, task.request.chunks}
                                    : task.asked.schedules.front();
  std::vector<RunShape> shapes;
  for (const cluster::ParallelSizes& one : sizes) shapes.push_back({one, schedule});
  SizeChoice choice{.gpus = task.asked.gpus, .ranked = {}, .refused = {}};
  std::vector<Error> errors = look_at(task, shapes, choice);
  std::ranges::move(look_at(task, with_other_schedules(task, choice), choice),
                    std::back_inserter(errors));
  if (choice.ranked.empty()) return least_shortage(std::move(errors), choice.refused);
  return choice;
}

}  // namespace

bool has_sizes(const SizeTask& task) {
  return std::ranges::any_of(all_sizes(task), [&](const cluster::ParallelSizes& sizes) {
    return check_batch(task, sizes).ok();
  });
}

std::vector<ScheduleSpec> searched_schedules(std::optional<std::int64_t> chunks) {
  std::vector<ScheduleSpec> schedules = {{schedule::ScheduleKind::kOneFOneB, 1},
                                         {schedule::ScheduleKind::kInterleaved, 2},
                                         {schedule::ScheduleKind::kInterleaved, 4},
                                         {schedule::ScheduleKind::kZbH1, 1},
                                         {schedule::ScheduleKind::kZbV, 2}};
  if (chunks) {
    std::erase_if(schedules, [&](const ScheduleSpec& one) { return one.chunks != *chunks; });
    if (schedules.empty()) {
      schedules = {{schedule::ScheduleKind::kInterleaved, static_cast<std::int32_t>(*chunks)}};
    }
  }
  return schedules;
}

Result<SizeChoice> choose_sizes(const SizeTask& task, const Progress& progress) {
  OMNIBAL_ASSIGN(SizeChoice choice, first_look(task, progress));
  const std::int64_t fewest_rejected = choice.best().rejected;
  const double worth = kWorthRefining * choice.best().gpu_days;
  const std::size_t refined = std::min(kRefined, choice.ranked.size());
  for (std::size_t i = 0; i < refined && choice.ranked[i].gpu_days <= worth; ++i) {
    if (choice.ranked[i].rejected > fewest_rejected) break;
    report(progress, "choosing caps of the best sizes", static_cast<std::int64_t>(i),
           static_cast<std::int64_t>(refined));
    Result<SizeCandidate> full =
        predict_in_full(task, {choice.ranked[i].sizes, choice.ranked[i].schedule});
    if (full) choice.ranked[i] = *std::move(full);
  }
  std::ranges::sort(choice.ranked, better_size);
  SizeCandidate& best = choice.ranked.front();
  best.reason = why_it_wins(best.shares);
  for (SizeCandidate& other : std::span(choice.ranked).subspan(1)) {
    other.reason = other.rejected > best.rejected
                       ? fmt::format("{} samples fit in no pack, {} in the best", other.rejected,
                                     best.rejected)
                       : why_it_loses({other.shares, other.gpu_days}, {best.shares, best.gpu_days});
  }
  return choice;
}

}  // namespace omnibal::plan
