// SPDX-License-Identifier: Apache-2.0
//
// The search of sizes: the plan is what it found best.
#include <cmath>

#include "model_claims.h"

namespace omnibal::verify {
namespace {

using codec::Json;
using codec::JsonFields;

constexpr std::int64_t kMostDevices = 1 << 24;

/// Sizes of all of the devices, a schedule that there is, and a reason.
Status check_shape(const Json& shape, std::int64_t gpus, const std::string& place) {
  const JsonFields fields = fields_of(shape, place);
  OMNIBAL_ASSIGN(const Json* parallel, fields.object("parallel"));
  const JsonFields sizes = fields_of(*parallel, place + ".parallel");
  std::int64_t devices = 1;
  for (const char* size : {"tp", "pp", "dp"}) {
    OMNIBAL_ASSIGN(const std::int64_t of, sizes.integer(size, 1, kMostDevices / devices));
    devices *= of;
  }
  if (devices != gpus) return violation("{} is of {} GPUs, not of {}", place, devices, gpus);
  OMNIBAL_ASSIGN(const Json* schedule, fields.object("schedule"));
  const JsonFields spec = fields_of(*schedule, place + ".schedule");
  OMNIBAL_ASSIGN(const std::string kind, spec.text("kind"));
  OMNIBAL_RETURN_IF_ERROR(spec.integer("chunks", 1, kMostDevices));
  if (!schedule::parse_schedule_kind(kind)) {
    return violation("{}: there is no schedule \"{}\"", place, kind);
  }
  OMNIBAL_ASSIGN(const std::string reason, fields.text("reason"));
  if (reason.empty()) return violation("{} has no reason", place);
  return {};
}

/// The first candidate has the plan's sizes, schedule and caps, and its micro-batches where they
/// follow from caps that were chosen.
Status check_best(const plan::PlanReader& plan, const Json& best) {
  const std::string place = "search.candidates[0]";
  const JsonFields root = fields_of(plan.document(), "");
  OMNIBAL_ASSIGN(const Json* limits, root.object("limits"));
  OMNIBAL_ASSIGN(const Json* parallel, root.object("parallel"));
  OMNIBAL_ASSIGN(const Json* schedule, root.object("schedule"));
  Json sizes = *parallel;
  if (!limits->contains("explanation")) sizes.erase("micro_batches");
  OMNIBAL_RETURN_IF_ERROR(agree_all(best, {{"parallel", sizes}, {"schedule", *schedule}}, place));
  for (const char* cap : {"vision_cap", "token_cap"}) {
    OMNIBAL_ASSIGN(const std::int64_t own, fields_of(*limits, "limits").integer(cap, 1, INT64_MAX));
    OMNIBAL_RETURN_IF_ERROR(agree_all(best, {{cap, own}}, place));
  }
  return {};
}

/// It fits into memory and takes some time.
Status check_candidate(const plan::PlanReader& plan, const Json& candidate,
                       const std::string& place) {
  OMNIBAL_ASSIGN(const std::int64_t limit,
                 fields_of(plan.document(), "").integer("memory_bytes", 0, INT64_MAX));
  const JsonFields fields = fields_of(candidate, place);
  OMNIBAL_RETURN_IF_ERROR(fields.integer("peak_bytes", 0, limit));
  OMNIBAL_RETURN_IF_ERROR(fields.integer("rejected", 0, INT64_MAX));
  OMNIBAL_RETURN_IF_ERROR(fields.boolean("refined"));
  OMNIBAL_RETURN_IF_ERROR(check_shares(candidate, place));
  OMNIBAL_RETURN_IF_ERROR(positive(candidate, "seconds_per_sample", place));
  OMNIBAL_RETURN_IF_ERROR(positive(candidate, "gpu_days", place));
  return {};
}

/// Of how many samples a candidate speaks: those that its GPU days pass and those left out.
double usable_samples(const Json& candidate, std::int64_t gpus) {
  return candidate.at("gpu_days").get<double>() * 86400 /
             (candidate.at("seconds_per_sample").get<double>() * static_cast<double>(gpus)) +
         candidate.at("rejected").get<double>();
}

/// Those first that leave fewest samples out, then the fastest; all of the same samples.
Status check_ranking(const Json& candidates, std::int64_t gpus) {
  const double usable = usable_samples(candidates[0], gpus);
  const auto key = [&](std::size_t i) {
    return std::pair(candidates[i].at("rejected").get<std::int64_t>(),
                     candidates[i].at("gpu_days").get<double>());
  };
  for (std::size_t i = 1; i < candidates.size(); ++i) {
    if (key(i) < key(i - 1)) {
      return violation("search.candidates[{}] is better than the one before it", i);
    }
    if (std::abs(usable_samples(candidates[i], gpus) / usable - 1) > 1e-9) {
      return violation(
          "search.candidates[{}]: gpu_days and seconds_per_sample are not of {:.0f} samples", i,
          usable);
    }
  }
  return {};
}

}  // namespace

Status check_search(const plan::PlanReader& plan, const Json& search) {
  const JsonFields fields = fields_of(search, "search");
  OMNIBAL_ASSIGN(const std::int64_t gpus, fields.integer("gpus", 1, kMostDevices));
  OMNIBAL_ASSIGN(const Json* candidates, fields.array("candidates"));
  OMNIBAL_ASSIGN(const Json* refused, fields.array("refused"));
  if (candidates->empty()) return violation("search.candidates is empty");
  for (std::size_t i = 0; i < candidates->size(); ++i) {
    const std::string place = fmt::format("search.candidates[{}]", i);
    OMNIBAL_RETURN_IF_ERROR(check_shape((*candidates)[i], gpus, place));
    OMNIBAL_RETURN_IF_ERROR(check_candidate(plan, (*candidates)[i], place));
  }
  for (std::size_t i = 0; i < refused->size(); ++i) {
    OMNIBAL_RETURN_IF_ERROR(check_shape((*refused)[i], gpus, fmt::format("search.refused[{}]", i)));
  }
  OMNIBAL_RETURN_IF_ERROR(check_ranking(*candidates, gpus));
  return check_best(plan, (*candidates)[0]);
}

}  // namespace omnibal::verify
