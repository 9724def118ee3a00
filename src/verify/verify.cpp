// SPDX-License-Identifier: Apache-2.0
#include "omnibal/verify/verify.h"

#include <algorithm>
#include <filesystem>
#include <functional>

#include "checks.h"

namespace omnibal::verify {
namespace {

struct NamedCheck {
  std::string_view name;
  std::function<Finding()> run;
};

Check run_check(const NamedCheck& check) {
  const Finding finding = check.run();
  if (finding) return {std::string(check.name), true, *finding};
  std::string detail = finding.error().message;
  if (!finding.error().where.file.empty()) detail = finding.error().where.file + ": " + detail;
  return {std::string(check.name), false, detail};
}

std::vector<NamedCheck> data_checks(const plan::PlanReader& plan, const std::string& directory) {
  return {{"exactly_once", [&] { return check_exactly_once(plan); }},
          {"rejected", [&] { return check_rejected(plan, directory); }},
          {"loads", [&] { return check_loads(plan); }},
          {"caps", [&] { return check_caps(plan); }},
          {"supervised", [&] { return check_supervised(plan); }},
          {"counts", [&] { return check_counts(plan); }},
          {"packing_metrics", [&] { return check_packing_metrics(plan); }},
          {"inputs", [&] { return check_inputs(plan); }}};
}

std::vector<NamedCheck> step_checks(const plan::PlanReader& plan) {
  return {{"steps", [&] { return check_steps(plan); }},
          {"step_metrics", [&] { return check_step_metrics(plan); }}};
}

std::vector<NamedCheck> model_checks(const plan::PlanReader& plan, const VerifyOptions& options) {
  return {{"parallel", [&] { return check_parallel(plan); }},
          {"partition", [&] { return check_partition(plan); }},
          {"recompute", [&] { return check_recompute(plan); }},
          {"memory", [&] { return check_memory(plan); }},
          {"prediction", [&, options] { return check_prediction(plan, options); }}};
}

}  // namespace

bool Verdict::ok() const { return std::ranges::all_of(checks, &Check::ok); }

Status agree(const codec::Json& object, std::string_view key, std::int64_t counted) {
  const auto found = object.find(key);
  if (found == object.end()) return violation("plan.json lacks \"{}\"", key);
  if (!found->is_number_integer() || found->get<std::int64_t>() != counted) {
    return violation("plan.json says {} {}, the arrays say {}", key, found->dump(), counted);
  }
  return {};
}

Status agree(const codec::Json& object, std::string_view key, double computed) {
  constexpr double kTolerance = 1e-9;  // of sums taken in another order
  const auto found = object.find(key);
  if (found == object.end()) return violation("plan.json lacks \"{}\"", key);
  const double scale = std::max(1.0, std::abs(computed));
  if (!found->is_number() || !(std::abs(found->get<double>() - computed) <= kTolerance * scale)) {
    return violation("plan.json says {} {}, recomputed it is {}", key, found->dump(), computed);
  }
  return {};
}

Result<Verdict> verify_plan(const std::string& directory, const VerifyOptions& options,
                            const Progress& progress) {
  if (!std::filesystem::is_directory(directory)) {
    return Error(ErrorCode::kFileNotFound, "there is no plan directory of this name")
        .in_file(directory);
  }
  Verdict verdict;
  if (!options.ignore_checksums) {
    verdict.checks.push_back(run_check({"checksums", [&] { return check_checksums(directory); }}));
  }
  const Result<plan::PlanReader> plan = plan::PlanReader::open(directory);
  verdict.checks.push_back(run_check({"files", [&]() -> Finding {
                                        if (!plan) return plan.error();
                                        return std::string("every file opens and has its shape");
                                      }}));
  if (!plan) return verdict;
  std::vector<NamedCheck> checks = data_checks(*plan, directory);
  if (plan->steps() != nullptr) std::ranges::move(step_checks(*plan), std::back_inserter(checks));
  if (plan->profile() != nullptr) {
    std::ranges::move(model_checks(*plan, options), std::back_inserter(checks));
  }
  for (std::size_t i = 0; i < checks.size(); ++i) {
    report(progress, "verifying", static_cast<std::int64_t>(i),
           static_cast<std::int64_t>(checks.size()));
    verdict.checks.push_back(run_check(checks[i]));
  }
  return verdict;
}

}  // namespace omnibal::verify
