// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_reuse.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "omnibal/plan/plan_directory.h"
#include "omnibal/verify/verify.h"

namespace omnibal::cli {
namespace {

Status check_holds(const std::string& directory, const Context& context) {
  OMNIBAL_ASSIGN(const verify::Verdict verdict,
                 verify::verify_plan(directory, {.threads = context.threads}, context.progress));
  const auto broken =
      std::ranges::find_if(verdict.checks, [](const verify::Check& check) { return !check.ok; });
  if (broken == verdict.checks.end()) return {};
  return Error(ErrorCode::kInvalidPlan,
               fmt::format("the plan there does not hold: {}", broken->detail))
      .in_file(directory)
      .at_key(broken->name)
      .with_hint("leave --reuse away to make it anew");
}

}  // namespace

Flag reuse_flag(bool* reuse) {
  return {.name = "--reuse",
          .target = reuse,
          .help =
              "Keep the plan that --out holds if it is of the same inputs and options and "
              "holds; refuse it, saying why, if it is stale"};
}

Result<std::optional<Output>> keep_plan(const std::string& directory,
                                        const plan::Provenance& provenance,
                                        const Context& context) {
  if (directory.empty()) {
    return Error(ErrorCode::kInvalidArgument, "which plan should be kept?")
        .at_key("--reuse")
        .with_hint("give --out DIR");
  }
  const std::string path = fmt::format("{}/{}", directory, plan::kPlanDocument);
  if (!std::filesystem::exists(path)) return std::optional<Output>();
  OMNIBAL_RETURN_IF_ERROR(plan::check_made_of(directory, provenance));
  OMNIBAL_RETURN_IF_ERROR(check_holds(directory, context));
  Output output;
  OMNIBAL_ASSIGN(output.json, codec::read_json(path));
  for (const char* key : {"format", "version", "provenance", "corpus"}) output.json.erase(key);
  output.json["reused"] = true;
  output.text = fmt::format("the plan in {} is of the same inputs and options: kept\n", directory);
  return std::optional(std::move(output));
}

}  // namespace omnibal::cli
