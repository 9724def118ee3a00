// SPDX-License-Identifier: Apache-2.0
#include "omnibal/verify/verify.h"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <optional>

#include "checks.h"

namespace omnibal::verify {
namespace {

std::vector<NamedCheck> data_checks(const plan::PlanReader& plan, const std::string& directory) {
  return {{"exactly_once", [&] { return check_exactly_once(plan); }},
          {"rejected", [&] { return check_rejected(plan, directory); }},
          {"truncated", [&] { return check_truncated(plan, directory); }},
          {"loads", [&] { return check_loads(plan); }},
          {"caps", [&] { return check_caps(plan); }},
          {"supervised", [&] { return check_supervised(plan); }},
          {"counts", [&] { return check_counts(plan); }},
          {"packing_metrics", [&] { return check_packing_metrics(plan); }},
          {"mix", [&] { return check_mix(plan); }},
          {"limits", [&] { return check_limits(plan); }},
          {"inputs", [&] { return check_inputs(plan, directory); }}};
}

std::vector<NamedCheck> step_checks(const plan::PlanReader& plan, const std::string& directory) {
  return {{"steps", [&] { return check_steps(plan); }},
          {"step_metrics", [&] { return check_step_metrics(plan); }},
          {"epochs", [&] { return check_epochs(plan); }},
          {"worst_pack", [&] { return check_worst_pack(plan); }},
          {"step_mix", [&] { return check_step_mix(plan, directory); }}};
}

std::vector<NamedCheck> model_checks(const plan::PlanReader& plan, const VerifyOptions& options) {
  return {{"parallel", [&] { return check_parallel(plan); }},
          {"partition", [&] { return check_partition(plan); }},
          {"recompute", [&] { return check_recompute(plan); }},
          {"memory", [&] { return check_memory(plan); }},
          {"prediction", [&, options] { return check_prediction(plan, options); }},
          {"ablation", [&, options] { return check_ablation(plan, options); }},
          {"explanations", [&, options] { return check_explanations(plan, options); }}};
}

}  // namespace

bool Verdict::ok() const { return std::ranges::all_of(checks, &Check::ok); }

Check run_check(const NamedCheck& check) {
  Finding finding = std::string();
  try {
    finding = check.run();
  } catch (const std::exception& problem) {
    finding = violation("this could not be checked: {}", problem.what());
  }
  if (finding) return {std::string(check.name), true, *finding};
  std::string detail = finding.error().message;
  if (!finding.error().where.file.empty()) detail = finding.error().where.file + ": " + detail;
  return {std::string(check.name), false, detail};
}

Result<Verdict> verify_plan(const std::string& directory, const VerifyOptions& options,
                            const Progress& progress) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(directory, ignored)) {
    return Error(ErrorCode::kFileNotFound, "there is no plan directory of this name")
        .in_file(directory);
  }
  Verdict verdict;
  if (!options.ignore_checksums) {
    verdict.checks.push_back(run_check({"checksums", [&] { return check_checksums(directory); }}));
  }
  std::optional<plan::PlanReader> plan;
  verdict.checks.push_back(run_check({"files", [&]() -> Finding {
                                        OMNIBAL_ASSIGN(plan, plan::PlanReader::open(directory));
                                        return std::string("every file opens and has its shape");
                                      }}));
  if (!plan) return verdict;
  std::vector<NamedCheck> checks = data_checks(*plan, directory);
  if (plan->steps() != nullptr)
    std::ranges::move(step_checks(*plan, directory), std::back_inserter(checks));
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
