// SPDX-License-Identifier: Apache-2.0
//
// TrainConfig: what train.toml says, checked. Every key is also a flag: its dots and underscores as
// hyphens.
//
//   OMNIBAL_ASSIGN(codec::Json document, codec::read_toml("train.toml"));
//   OMNIBAL_RETURN_IF_ERROR(override_key(document, "optimizer.lr", "2e-5"));   // --optimizer-lr
//   OMNIBAL_ASSIGN(const TrainConfig config, parse_train_config(document, "train.toml"));
//
// Not the model (its config.json) and not the plan: whether the three fit is for the trainer to
// say.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "omnibal/base/result.h"
#include "omnibal/codec/json.h"
#include "omnibal/runtime/data/loss_mode.h"
#include "omnibal/runtime/optimizer/learning_rate.h"
#include "omnibal/runtime/optimizer/parameter_groups.h"
#include "omnibal/schedule/schedule.h"

namespace omnibal::runtime {

enum class RecomputeChoice { kPlan, kNone, kFull };
enum class Precision { kFp32, kBf16, kFp64 };
/// "fp32" and so on, as in train.toml.
std::string_view to_string(Precision precision);

struct OptimizerConfig {
  GroupRules rules;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double clip = 1.0;        // largest gradient norm; 0: none
  std::int64_t warmup = 0;  // steps
  ScheduleShape schedule = ScheduleShape::kCosine;
};

struct CheckpointConfig {
  std::string dir;           // empty: nothing is saved
  std::int64_t every = 500;  // steps
  std::int64_t keep = 2;     // the last ones; 0: all
};

struct TrainConfig {
  std::string model;  // directory: config.json, safetensors, preprocessor_config.json
  std::string data;   // prepared corpus directory
  std::string plan;   // plan directory
  std::int64_t tp = 0, pp = 0, dp = 0;             // 0: as the plan
  std::optional<schedule::ScheduleKind> schedule;  // nothing: as the plan
  RecomputeChoice recompute = RecomputeChoice::kPlan;
  Precision precision = Precision::kBf16;
  LossMode loss = LossMode::kToken;
  std::int64_t steps = 0;  // of the whole training; 0: as many as `epochs` have
  std::int64_t epochs = 1;
  std::int64_t seed = 0;
  OptimizerConfig optimizer;
  CheckpointConfig checkpoint;
  std::string log;             // JSON Lines; empty: none
  std::int64_t watchdog = 20;  // s that a rank may neither compute nor wait
};

struct TrainKey {
  std::string_view name;  // "optimizer.lr"
  std::string_view what;  // one line for --help
  bool is_path = false;
};

/// All keys, in the order of the documentation.
std::span<const TrainKey> train_keys();

/// Sets a key as a flag says: `text` is a TOML value or, where it is none, a string. Errors:
/// kUnknownKey, with the nearest.
Status override_key(codec::Json& document, std::string_view key, std::string_view text);

/// Relative paths of the file `origin` are relative to its folder; those of flags to the working
/// directory. Errors: kUnknownKey with the nearest key, kMissingKey, kWrongType, kOutOfRange,
/// kInvalidArgument (a word that a key does not take, with the nearest), each naming the key.
Result<TrainConfig> parse_train_config(const codec::Json& document, const std::string& origin);

}  // namespace omnibal::runtime
