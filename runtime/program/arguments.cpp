// SPDX-License-Identifier: Apache-2.0
#include "program/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "omnibal/base/nearest_name.h"
#include "omnibal/codec/toml.h"

namespace omnibal::runtime {
namespace {

constexpr std::int64_t kMostProcesses = 1 << 16;

/// "--optimizer-weight-decay" of "optimizer.weight_decay".
std::string flag_of(std::string_view key) {
  std::string flag = fmt::format("--{}", key);
  std::ranges::replace_if(
      flag, [](char letter) { return letter == '.' || letter == '_'; }, '-');
  return flag;
}

Error unknown_flag(const std::string& flag) {
  std::vector<std::string> names = {"--config", "--np",   "--out",    "--json",
                                    "--quiet",  "--help", "--version"};
  for (const TrainKey& key : train_keys()) names.push_back(flag_of(key.name));
  return Error(ErrorCode::kInvalidArgument, fmt::format("unknown flag {}", flag))
      .at_key(flag)
      .with_hint(fmt::format("the nearest is {}", nearest_name(flag, names)));
}

Status take_switch(const std::string& flag, Arguments& arguments, bool& taken) {
  taken = true;
  if (flag == "--json") return arguments.json = true, Status();
  if (flag == "--quiet") return arguments.quiet = true, Status();
  if (flag == "--help" || flag == "-h") return arguments.help = true, Status();
  if (flag == "--version") return arguments.version = true, Status();
  taken = false;
  return {};
}

Status take_value(const std::string& flag, const std::string& value, Arguments& arguments) {
  if (flag == "--config") {
    arguments.config = value;
    return {};
  }
  if (flag == "--out") {
    arguments.out = value;
    return {};
  }
  if (flag == "--np") {
    std::int64_t count = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), count);
    if (error != std::errc() || *end != '\0' || count < 1 || count > kMostProcesses) {
      return Error(ErrorCode::kInvalidArgument, "--np takes a number of processes")
          .at_key("--np")
          .with_value(value)
          .with_limit(kMostProcesses);
    }
    arguments.num_processes = count;
    return {};
  }
  const auto key =
      std::ranges::find(train_keys(), flag, [](const TrainKey& one) { return flag_of(one.name); });
  if (key == train_keys().end()) return unknown_flag(flag);
  arguments.keys.emplace_back(key->name, value);
  return {};
}

Status check_profile(const Arguments& arguments) {
  const bool profiles = arguments.work == Work::kProfile && !arguments.help && !arguments.version;
  if (profiles && arguments.num_processes > 1) {
    return Error(ErrorCode::kInvalidArgument, "a profile is measured by one process")
        .at_key("--np")
        .with_value(arguments.num_processes)
        .with_limit(std::int64_t{1})
        .with_hint("leave --np out");
  }
  if (profiles && arguments.out.empty()) {
    return Error(ErrorCode::kInvalidArgument, "profile needs --out, the file that it writes")
        .at_key("--out")
        .with_hint("give --out profile.json");
  }
  if (arguments.work == Work::kProfile || arguments.out.empty()) return {};
  return Error(ErrorCode::kInvalidArgument, "--out is of profile alone")
      .at_key("--out")
      .with_value(arguments.out)
      .with_hint("omnibal-train profile --config train.toml --out profile.json");
}

}  // namespace

std::string_view to_string(Work work) {
  switch (work) {
    case Work::kTrain:
      return "train";
    case Work::kEvaluate:
      return "evaluate";
    case Work::kProfile:
      return "profile";
  }
  return "";
}

Result<Arguments> parse_arguments(const std::vector<std::string>& words) {
  Arguments arguments;
  for (const Work work : {Work::kEvaluate, Work::kProfile}) {
    if (!words.empty() && words.front() == to_string(work)) arguments.work = work;
  }
  for (std::size_t i = arguments.work == Work::kTrain ? 0 : 1; i < words.size(); ++i) {
    bool taken = false;
    OMNIBAL_RETURN_IF_ERROR(take_switch(words[i], arguments, taken));
    if (taken) continue;
    const std::size_t equals = words[i].find('=');
    const std::string flag = words[i].substr(0, equals);
    if (!flag.starts_with("--")) return unknown_flag(flag);
    if (equals != std::string::npos) {
      OMNIBAL_RETURN_IF_ERROR(take_value(flag, words[i].substr(equals + 1), arguments));
    } else if (i + 1 < words.size()) {
      OMNIBAL_RETURN_IF_ERROR(take_value(flag, words[++i], arguments));
    } else {
      return Error(ErrorCode::kInvalidArgument, fmt::format("{} has no value", flag)).at_key(flag);
    }
  }
  OMNIBAL_RETURN_IF_ERROR(check_profile(arguments));
  return arguments;
}

Result<TrainConfig> read_config(const Arguments& arguments) {
  codec::Json document = codec::Json::object();
  if (!arguments.config.empty()) {
    OMNIBAL_ASSIGN(document, codec::read_toml(arguments.config));
  }
  for (const auto& [key, value] : arguments.keys) {
    OMNIBAL_RETURN_IF_ERROR(override_key(document, key, value));
  }
  if (document.empty()) {
    return Error(ErrorCode::kInvalidArgument, "what is to be trained?")
        .at_key("--config")
        .with_hint("give --config train.toml (docs/formats/train.md), or its keys as flags");
  }
  return parse_train_config(document, arguments.config);
}

std::string usage() {
  std::string text =
      "omnibal-train [evaluate|profile] --config train.toml [flags]\n"
      "Trains a vision-language model by a plan of omnibal, alone or under mpirun.\n"
      "evaluate: loss and exact answers of the model on data and plan; each process has all of it."
      "\n"
      "profile: measures the layers on packs of the plan and writes what they take into --out.\n\n"
      "  --config FILE  keys as in docs/formats/train.md; each is also a flag, which wins\n"
      "  --out FILE     of profile: where to write it\n"
      "  --np N         starts N processes with mpirun\n"
      "  --json         the outcome, or the error, as one JSON object on standard output\n"
      "  --quiet        no progress\n"
      "  --version, --help\n\n";
  for (const TrainKey& key : train_keys()) {
    text += fmt::format("  {:<26} {}\n", flag_of(key.name), key.what);
  }
  return text;
}

}  // namespace omnibal::runtime
