// SPDX-License-Identifier: Apache-2.0
#include "omnibal/verify/verify.h"

#include <fmt/format.h>

#include <memory>

#include "cli/command.h"

namespace omnibal::cli {
namespace {

struct VerifyFlags {
  std::string directory;
  bool ignore_checksums = false;
};

codec::Json to_json(const verify::Verdict& verdict) {
  codec::Json checks = codec::Json::array();
  for (const verify::Check& check : verdict.checks) {
    checks.push_back({{"name", check.name}, {"ok", check.ok}, {"detail", check.detail}});
  }
  return {{"ok", verdict.ok()}, {"checks", checks}};
}

std::string to_text(const verify::Verdict& verdict) {
  std::string text;
  for (const verify::Check& check : verdict.checks) {
    text +=
        fmt::format("{}  {:<16} {}\n", check.ok ? "ok    " : "FAILED", check.name, check.detail);
  }
  return text + (verdict.ok() ? "the plan holds\n" : "the plan does not hold\n");
}

Result<Output> run_verify(const VerifyFlags& flags, const Context& context) {
  OMNIBAL_ASSIGN(
      const verify::Verdict verdict,
      verify::verify_plan(flags.directory,
                          {.ignore_checksums = flags.ignore_checksums, .threads = context.threads},
                          context.progress));
  const int bad_input = error_code_info(ErrorCode::kInvalidPlan).exit_code;
  return Output{to_json(verdict), to_text(verdict), verdict.ok() ? 0 : bad_input};
}

}  // namespace

Command make_verify_command() {
  auto flags = std::make_shared<VerifyFlags>();
  return {
      .name = "verify",
      .summary = "Check a plan independently: re-read every file, trust nothing",
      .description =
          "Reads every file of a plan directory again and recomputes what it claims: "
          "checksums, each sample exactly once, rejections, caps, loads, counts, steps, padding "
          "and imbalance, stages, memory, predicted step time, the certificate, steps under other "
          "layer times. Inputs that still have their "
          "hash are read again and compared row by row. Taken as given are the provenance, the "
          "model's name and layer costs, the cluster's links, the packer's name and settings, "
          "the step times of the ablation's rows before +order, ZeRO-3, other layouts, what caps "
          "and a search were predicted to cost; a check says what else it "
          "could not recompute. Exit status 3 if anything does not hold.",
      .example = "omnibal verify plan/\nomnibal verify plan/ --ignore-checksums --json",
      .flags = {{.name = "DIR",
                 .target = &flags->directory,
                 .help = "The plan directory",
                 .required = true},
                {.name = "--ignore-checksums",
                 .target = &flags->ignore_checksums,
                 .help = "Check only what the files mean, for a plan edited on purpose"}},
      .run = [flags](const Context& context) { return run_verify(*flags, context); }};
}

}  // namespace omnibal::cli
