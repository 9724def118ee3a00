// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "cli/options/model_flags.h"
#include "cli/plan_text.h"
#include "cli/text_table.h"

namespace omnibal::cli {
namespace {

/// Where --hours is given without --gpus.
constexpr std::int64_t kMostGpus = 4096;
constexpr std::size_t kShown = 8;

std::vector<std::string> row_of(const plan::SizeCandidate& candidate, double best_days) {
  const plan::CapPrediction& prediction = candidate.prediction;
  return {fmt::format("{} x {} x {}", candidate.sizes.tp, candidate.sizes.pp, candidate.sizes.dp),
          to_text(candidate.schedule),
          fmt::format("{} x {}", prediction.vision_cap, prediction.token_cap),
          fmt::format("{}", prediction.micro_batches),
          days(candidate.gpu_days) + (candidate.caps ? "" : " ~"),
          fmt::format("{:+.1f} %", 100 * (candidate.gpu_days / best_days - 1))};
}

std::string candidates_table(const plan::SizeChoice& choice) {
  std::vector<std::vector<std::string>> rows = {
      {"tp x pp x dp", "schedule", "caps", "micro-batches", "GPU days", ""}};
  const std::span shown(choice.ranked.data(), std::min(kShown, choice.ranked.size()));
  for (const plan::SizeCandidate& candidate : shown) {
    rows.push_back(row_of(candidate, choice.best().gpu_days));
  }
  std::vector<std::string> reasons;
  for (const plan::SizeCandidate& candidate : shown) reasons.push_back(candidate.reason);
  return text_table(rows, reasons);
}

std::string counts_table(const SizeSearch& search) {
  std::vector<std::vector<std::string>> rows = {{"GPUs", "tp x pp x dp", "hours", "GPU days"}};
  for (const plan::SizeChoice& choice : search.looked_at) {
    if (choice.ranked.empty()) {
      // More devices hold more: that is what the halving of fewest_gpus rests on.
      rows.push_back({fmt::format("up to {}", choice.gpus), "do not fit"});
      continue;
    }
    const plan::SizeCandidate& best = choice.best();
    rows.push_back({fmt::format("{}", choice.gpus),
                    fmt::format("{} x {} x {}", best.sizes.tp, best.sizes.pp, best.sizes.dp),
                    fmt::format("{:.1f}", choice.hours()), days(best.gpu_days)});
  }
  return text_table(rows);
}

}  // namespace

std::vector<Flag> size_flags(SizeFlags& flags) {
  return {count_flag("--gpus", &flags.gpus,
                     "Devices of the cluster to use; with --hours the most that may be used"),
          {.name = "--hours",
           .target = &flags.hours,
           .help = "Use the fewest devices with which an epoch takes at most so many hours",
           .value_name = "H",
           .above = 0},
          count_flag("--tp", &flags.tp, "Tensor-parallel size"),
          count_flag("--pp", &flags.pp, "Pipeline stages"),
          count_flag("--dp", &flags.dp,
                     "Data-parallel size; of two given sizes and --gpus the third follows, with "
                     "fewer given the others are searched")};
}

Status check_flags(const SizeFlags& flags) {
  if (!flags.gpus && !flags.hours) {
    return Error(ErrorCode::kInvalidArgument, "how many devices are there?")
        .at_key("--gpus")
        .with_hint("give --gpus N, or --hours H for the fewest that are fast enough");
  }
  return {};
}

bool sizes_are_open(const SizeFlags& flags) {
  const int given = (flags.tp ? 1 : 0) + (flags.pp ? 1 : 0) + (flags.dp ? 1 : 0);
  return given < 2 || flags.hours.has_value();
}

Result<cluster::ParallelSizes> sizes_of(const SizeFlags& flags,
                                        const cluster::ClusterSpec& cluster) {
  cluster::ParallelSizes sizes{flags.tp.value_or(1), flags.pp.value_or(1), flags.dp.value_or(1)};
  const std::int64_t missing = std::max<std::int64_t>(1, *flags.gpus / sizes.gpus());
  if (!flags.tp) sizes.tp = missing;
  if (!flags.pp) sizes.pp = missing;
  if (!flags.dp) sizes.dp = missing;
  OMNIBAL_RETURN_IF_ERROR(cluster::check_sizes(sizes, *flags.gpus, cluster));
  return sizes;
}

const plan::SizeChoice& SizeSearch::chosen() const {
  const std::int64_t rejected = looked_at.back().best().rejected;  // no more than with most devices
  const auto in_time = [&](const plan::SizeChoice& choice) {
    return !hours || (!choice.ranked.empty() && choice.hours() <= *hours &&
                      choice.best().rejected <= rejected);
  };
  return *std::ranges::find_if(looked_at, in_time);
}

plan::SizeQuestion asked_of(const SizeFlags& flags, const cluster::ParallelSizes& sizes) {
  const std::int64_t gpus = flags.gpus.value_or(kMostGpus);
  if (sizes_are_open(flags)) return {.gpus = gpus, .tp = flags.tp, .pp = flags.pp, .dp = flags.dp};
  return {.gpus = gpus, .tp = sizes.tp, .pp = sizes.pp, .dp = sizes.dp};
}

Result<SizeSearch> search_sizes(const plan::SizeTask& task, const std::optional<double>& hours,
                                const Context& context) {
  SizeSearch search{.looked_at = {}, .hours = hours};
  if (hours) {
    OMNIBAL_ASSIGN(search.looked_at,
                   plan::fewest_gpus(task, *hours, task.asked.gpus, context.progress));
  } else {
    OMNIBAL_ASSIGN(plan::SizeChoice choice, plan::choose_sizes(task, context.progress));
    search.looked_at.push_back(std::move(choice));
  }
  return search;
}

codec::Json to_json(const SizeSearch& search) {
  codec::Json json = plan::to_json(search.chosen());
  if (!search.hours) return json;
  json["hours"] = *search.hours;
  json["counts"] = codec::Json::array();
  for (const plan::SizeChoice& choice : search.looked_at) {
    codec::Json count = {{"gpus", choice.gpus}};
    if (choice.ranked.empty()) {
      count["reason"] = choice.nothing_fits;
    } else {
      count["hours"] = choice.hours();
      count["gpu_days"] = choice.best().gpu_days;
    }
    json["counts"].push_back(std::move(count));
  }
  return json;
}

std::string to_text(const SizeSearch& search) {
  const plan::SizeChoice& choice = search.chosen();
  std::string text;
  if (search.hours) {
    text += fmt::format("{} GPUs are the fewest of those looked at that take at most {:g} h\n{}\n",
                        choice.gpus, *search.hours, counts_table(search));
  }
  text += fmt::format("{} of {} choices for {} GPUs fit, best first (~: few caps looked at)\n{}",
                      choice.ranked.size(), choice.ranked.size() + choice.refused.size(),
                      choice.gpus, candidates_table(choice));
  return text;
}

}  // namespace omnibal::cli
