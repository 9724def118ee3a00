// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/train_config/train_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>

#include "train_config/unknown_key.h"

namespace omnibal::runtime {
namespace {

using codec::Json;
using codec::JsonFields;

constexpr std::int64_t kMany = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMostRanks = 1 << 20;
constexpr std::int64_t kLongestSilence = 1 << 20;  // s

constexpr std::array kRecomputeChoices = {
    Named{RecomputeChoice::kPlan, "plan"},
    Named{RecomputeChoice::kNone, "none"},
    Named{RecomputeChoice::kFull, "full"},
};
constexpr std::array kPrecisions = {
    Named{Precision::kFp32, "fp32"},
    Named{Precision::kBf16, "bf16"},
    Named{Precision::kFp64, "fp64"},
};
constexpr std::array kScheduleShapes = {
    Named{ScheduleShape::kConstant, "constant"},
    Named{ScheduleShape::kLinear, "linear"},
    Named{ScheduleShape::kCosine, "cosine"},
};

bool is_known(std::string_view name) {
  return std::ranges::any_of(train_keys(), [&](const TrainKey& key) { return key.name == name; });
}

bool is_section(std::string_view name) { return name == "optimizer" || name == "checkpoint"; }

Status check_keys(const Json& document, const std::string& origin) {
  for (const auto& [name, value] : document.items()) {
    if (!is_section(name)) {
      if (!is_known(name)) return unknown_key(name, origin);
      continue;
    }
    if (!value.is_object()) continue;  // JsonFields says so
    for (const auto& [inner, ignored] : value.items()) {
      const std::string full = name + "." + inner;
      if (!is_known(full)) return unknown_key(full, origin);
    }
  }
  return {};
}

/// The value that the word under `key` stands for.
template <class E, std::size_t N>
Result<E> word(const JsonFields& fields, const std::array<Named<E>, N>& table, std::string_view key,
               E fallback) {
  OMNIBAL_ASSIGN(const std::string text,
                 fields.text_or(key, std::string(name_in(table, fallback))));
  return parse_name(table, key, key, text);
}

Result<std::string> path(const JsonFields& fields, std::string_view key, const std::string& origin,
                         bool needed) {
  if (!needed && !fields.has(key)) return std::string();
  OMNIBAL_ASSIGN(const std::string text, fields.text(key));
  if (text.empty()) {
    return Error(ErrorCode::kOutOfRange, fmt::format("{} is empty", key))
        .in_file(origin)
        .at_key(std::string(key));
  }
  return (std::filesystem::path(origin).parent_path() / text).lexically_normal().string();
}

Status read_sizes(const JsonFields& fields, TrainConfig& config) {
  OMNIBAL_ASSIGN(config.tp, fields.integer_or("tp", 0, 1, kMostRanks));
  OMNIBAL_ASSIGN(config.pp, fields.integer_or("pp", 0, 1, kMostRanks));
  OMNIBAL_ASSIGN(config.dp, fields.integer_or("dp", 0, 1, kMostRanks));
  OMNIBAL_ASSIGN(config.steps, fields.integer_or("steps", 0, 1, kMany));
  OMNIBAL_ASSIGN(config.epochs, fields.integer_or("epochs", 1, 1, std::int64_t{1} << 30));
  OMNIBAL_ASSIGN(config.seed, fields.integer_or("seed", 0, 0, kMany));
  OMNIBAL_ASSIGN(config.watchdog, fields.integer_or("watchdog", 20, 1, kLongestSilence));
  return {};
}

Status read_choices(const JsonFields& fields, TrainConfig& config) {
  OMNIBAL_ASSIGN(const std::string kind, fields.text_or("schedule", "plan"));
  if (kind != "plan") {
    OMNIBAL_ASSIGN(config.schedule, schedule::parse_schedule_kind(kind));
  }
  OMNIBAL_ASSIGN(config.recompute, word(fields, kRecomputeChoices, "recompute", config.recompute));
  OMNIBAL_ASSIGN(config.precision, word(fields, kPrecisions, "precision", config.precision));
  OMNIBAL_ASSIGN(config.loss, word(fields, kLossModes, "loss", config.loss));
  return {};
}

Status read_rules(const JsonFields& fields, const std::string& origin, GroupRules& rules) {
  OMNIBAL_ASSIGN(rules.lr, fields.number_or("lr", rules.lr, 0, 1e3));
  OMNIBAL_ASSIGN(rules.weight_decay, fields.number_or("weight_decay", 0, 0, 1e3));
  if (fields.has("part_lr")) {
    OMNIBAL_ASSIGN(const Json* rates, fields.object("part_lr"));
    const JsonFields parts(*rates, origin, "optimizer.part_lr");
    OMNIBAL_RETURN_IF_ERROR(parts.only({"vision", "projector", "language"}));
    for (const auto& [part, ignored] : rates->items()) {
      OMNIBAL_ASSIGN(rules.part_lr[part], parts.number(part, 0, 1e3));
    }
  }
  if (!fields.has("frozen")) return {};
  OMNIBAL_ASSIGN(const Json* frozen, fields.array("frozen"));
  for (const Json& part : *frozen) {
    if (!part.is_string()) {
      return Error(ErrorCode::kWrongType, "frozen lists names of parts")
          .in_file(origin)
          .at_key("optimizer.frozen");
    }
    rules.frozen.push_back(part.get<std::string>());
  }
  return {};
}

Status read_betas(const JsonFields& fields, const std::string& origin, OptimizerConfig& config) {
  if (!fields.has("betas")) return {};
  OMNIBAL_ASSIGN(const Json* betas, fields.array("betas"));
  const auto fits = [](const Json& beta) {
    return beta.is_number() && beta.get<double>() >= 0 && beta.get<double>() < 1;
  };
  if (betas->size() != 2 || !std::all_of(betas->begin(), betas->end(), fits)) {
    return Error(ErrorCode::kOutOfRange, "betas are two numbers from 0 to below 1")
        .in_file(origin)
        .at_key("optimizer.betas")
        .with_value(betas->dump());
  }
  config.beta1 = betas->at(0).get<double>();
  config.beta2 = betas->at(1).get<double>();
  return {};
}

Status read_optimizer(const JsonFields& fields, const std::string& origin,
                      OptimizerConfig& config) {
  OMNIBAL_RETURN_IF_ERROR(read_rules(fields, origin, config.rules));
  OMNIBAL_RETURN_IF_ERROR(read_betas(fields, origin, config));
  OMNIBAL_ASSIGN(config.eps, fields.number_or("eps", config.eps, 0, 1));
  OMNIBAL_ASSIGN(config.clip, fields.number_or("clip", config.clip, 0, 1e9));
  OMNIBAL_ASSIGN(config.warmup, fields.integer_or("warmup", 0, 0, kMany));
  OMNIBAL_ASSIGN(config.schedule, word(fields, kScheduleShapes, "schedule", config.schedule));
  return {};
}

Status read_checkpoint(const JsonFields& fields, const std::string& origin,
                       CheckpointConfig& config) {
  OMNIBAL_ASSIGN(config.dir, path(fields, "dir", origin, false));
  OMNIBAL_ASSIGN(config.every, fields.integer_or("every", config.every, 1, kMany));
  OMNIBAL_ASSIGN(config.keep, fields.integer_or("keep", config.keep, 0, kMany));
  return {};
}

/// A section that is absent is empty.
Result<Json> section(const JsonFields& fields, std::string_view name) {
  if (!fields.has(name)) return Json(Json::object());
  OMNIBAL_ASSIGN(const Json* found, fields.object(name));
  return *found;
}

}  // namespace

std::string_view to_string(Precision precision) { return name_in(kPrecisions, precision); }

Result<TrainConfig> parse_train_config(const Json& document, const std::string& origin) {
  OMNIBAL_RETURN_IF_ERROR(check_keys(document, origin));
  const JsonFields fields(document, origin);
  TrainConfig config;
  OMNIBAL_ASSIGN(config.model, path(fields, "model", origin, true));
  OMNIBAL_ASSIGN(config.data, path(fields, "data", origin, true));
  OMNIBAL_ASSIGN(config.plan, path(fields, "plan", origin, true));
  OMNIBAL_ASSIGN(config.log, path(fields, "log", origin, false));
  OMNIBAL_RETURN_IF_ERROR(read_sizes(fields, config));
  OMNIBAL_RETURN_IF_ERROR(read_choices(fields, config));
  OMNIBAL_ASSIGN(const Json optimizer, section(fields, "optimizer"));
  OMNIBAL_RETURN_IF_ERROR(
      read_optimizer(JsonFields(optimizer, origin, "optimizer"), origin, config.optimizer));
  OMNIBAL_ASSIGN(const Json checkpoint, section(fields, "checkpoint"));
  OMNIBAL_RETURN_IF_ERROR(
      read_checkpoint(JsonFields(checkpoint, origin, "checkpoint"), origin, config.checkpoint));
  return config;
}

}  // namespace omnibal::runtime
