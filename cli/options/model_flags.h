// SPDX-License-Identifier: Apache-2.0
//
// Flags about the model, the devices and the schedule that several commands share: declared once.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/options/flag.h"
#include "omnibal/base/result.h"
#include "omnibal/codec/json.h"
#include "omnibal/cost/analytic.h"
#include "omnibal/model/model.h"
#include "omnibal/schedule/schedule.h"

namespace omnibal::cli {

/// Most devices, stages, ranks or micro-batches that a flag takes.
inline constexpr std::int64_t kMostDevices = 1 << 20;
/// Most stages of a rank.
inline constexpr std::int64_t kMostChunks = 1 << 10;

struct ModelFlags {
  std::string model;
  std::string cluster;
  std::string heads = "replicate";
  std::vector<std::string> freeze;
  std::vector<std::string> lora;
  std::optional<std::int64_t> lora_rank;
  std::vector<std::string> lora_targets;
};

/// Of adapters where --lora does not say.
inline constexpr std::int64_t kLoraRank = 16;
/// The adapters' flags as provenance has them; empty without adapters.
codec::Json adapters_json(const ModelFlags& flags);

/// --model, --cluster (both required), --heads, --freeze, --lora, --lora-rank, --lora-targets.
std::vector<Flag> model_flags(ModelFlags& flags);

/// The model with its frozen parts and adapters. Errors: those of model::load_model, model::freeze,
/// model::add_adapters; a rank or targets without --lora.
Result<model::ModelSpec> load_model(const ModelFlags& flags);
cost::HeadPolicy head_policy(const ModelFlags& flags);

/// `purpose` opens the help: "Model", "Model whose time is predicted".
Flag model_flag(FlagTarget target, const std::string& purpose);
Flag cluster_flag(FlagTarget target, const std::string& purpose);
Flag schedule_flag(FlagTarget target, const std::string& purpose);
/// --chunks, of any schedule.
Flag chunks_flag(FlagTarget target);
/// As asked for, else the fewest that the kind takes.
std::int32_t chunks_of(const std::optional<std::int64_t>& asked, schedule::ScheduleKind kind);
/// A number of devices, ranks, stages or the like: N from 1 to kMostDevices.
Flag count_flag(std::string name, FlagTarget target, std::string help);
Flag micro_batches_flag(FlagTarget target);
/// Which ways to spare memory layers may take.
Flag recompute_choices_flag(FlagTarget target);
Flag memory_flag(FlagTarget target, const std::string& otherwise);

}  // namespace omnibal::cli
