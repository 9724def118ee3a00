// SPDX-License-Identifier: Apache-2.0
#include "cli/options/model_flags.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "omnibal/cluster/cluster.h"
#include "omnibal/cost/recompute_choices.h"

namespace omnibal::cli {

Flag model_flag(FlagTarget target, const std::string& purpose) {
  return {.name = "--model",
          .target = target,
          .help = fmt::format("{}: a preset ({}), a pair VISION+LLM, or the path of a Hugging Face "
                              "config.json",
                              purpose, fmt::join(model::model_presets(), ", ")),
          .value_name = "NAME|FILE"};
}

Flag cluster_flag(FlagTarget target, const std::string& purpose) {
  return {.name = "--cluster",
          .target = target,
          .help = fmt::format("{}: a preset ({}) or the path of a TOML file", purpose,
                              fmt::join(cluster::cluster_presets(), ", ")),
          .value_name = "NAME|FILE"};
}

Flag schedule_flag(FlagTarget target, const std::string& purpose) {
  return {.name = "--schedule",
          .target = target,
          .help = purpose,
          .choices = schedule::schedule_kinds()};
}

Flag chunks_flag(FlagTarget target) {
  return {.name = "--chunks",
          .target = target,
          .help =
              "Stages that a rank runs: 2 or more with interleaved, 2 with zb-v, else 1 "
              "[default: the fewest]",
          .value_name = "N",
          .min = 1,
          .max = kMostChunks};
}

std::int32_t chunks_of(const std::optional<std::int64_t>& asked, schedule::ScheduleKind kind) {
  return static_cast<std::int32_t>(asked.value_or(schedule::fewest_chunks(kind)));
}

Flag count_flag(std::string name, FlagTarget target, std::string help) {
  return {.name = std::move(name),
          .target = target,
          .help = std::move(help),
          .value_name = "N",
          .min = 1,
          .max = kMostDevices};
}

Flag micro_batches_flag(FlagTarget target) {
  return count_flag("--micro-batches", target, "Micro-batches of a rank in a step");
}

Flag memory_flag(FlagTarget target, const std::string& otherwise) {
  return {.name = "--memory",
          .target = target,
          .help = fmt::format("Memory that a device may use; without, {}", otherwise),
          .value_name = "SIZE"};
}

Flag recompute_choices_flag(FlagTarget target) {
  return {.name = "--recompute-choices",
          .target = target,
          .help =
              "How a layer may spare memory: by recomputing all of itself; besides, by "
              "recomputing a part that the profile names (attention, mlp); besides, by moving "
              "its activations to the host's memory",
          .choices = cost::choice_sets()};
}

namespace {

constexpr std::int64_t kLargestRank = 1 << 16;

std::vector<Flag> adapter_flags(ModelFlags& flags) {
  return {{.name = "--lora",
           .target = &flags.lora,
           .help = "Parts of which adapters alone are trained (LoRA)",
           .value_name = "PART,...",
           .choices = {"vision", "llm"}},
          {.name = "--lora-rank",
           .target = &flags.lora_rank,
           .help = fmt::format("Rank of the adapters [default: {}]", kLoraRank),
           .value_name = "N",
           .min = 1,
           .max = kLargestRank},
          {.name = "--lora-targets",
           .target = &flags.lora_targets,
           .help = "Linear layers of a block that have an adapter; qkv is one on the fused "
                   "projection [default: all]",
           .value_name = "NAME,...",
           .choices = model::adapter_targets()}};
}

std::vector<std::string> lora_targets(const ModelFlags& flags) {
  return flags.lora_targets.empty() ? std::vector<std::string>{"all"} : flags.lora_targets;
}

}  // namespace

codec::Json adapters_json(const ModelFlags& flags) {
  codec::Json json = codec::Json::object();
  if (flags.lora.empty()) return json;
  json["lora"] = flags.lora;
  json["lora_rank"] = flags.lora_rank.value_or(kLoraRank);
  json["lora_targets"] = lora_targets(flags);
  return json;
}

std::vector<Flag> model_flags(ModelFlags& flags) {
  std::vector<Flag> table = {
      model_flag(&flags.model, "Model"),
      cluster_flag(&flags.cluster, "Devices"),
      {.name = "--heads",
       .target = &flags.heads,
       .help = "Attention whose heads do not divide by tp: computed whole by every device, or "
               "padded with zero heads",
       .choices = {"replicate", "pad"}},
      {.name = "--freeze",
       .target = &flags.freeze,
       .help = "Parts that are not trained",
       .value_name = "PART,...",
       .choices = {"vision", "projector", "llm"}}};
  table[0].required = table[1].required = true;
  return joined({std::move(table), adapter_flags(flags)});
}

Result<model::ModelSpec> load_model(const ModelFlags& flags) {
  OMNIBAL_ASSIGN(model::ModelSpec model, model::load_model(flags.model));
  for (const std::string& part : flags.freeze) {
    OMNIBAL_RETURN_IF_ERROR(model::freeze(model, part));
  }
  if (flags.lora.empty() && (flags.lora_rank || !flags.lora_targets.empty())) {
    return Error(ErrorCode::kInvalidArgument, "adapters of which part?")
        .at_key(flags.lora_rank ? "--lora-rank" : "--lora-targets")
        .with_hint("say it with --lora: vision, llm or both");
  }
  for (const std::string& part : flags.lora) {
    OMNIBAL_RETURN_IF_ERROR(
        model::add_adapters(model, part, flags.lora_rank.value_or(kLoraRank), lora_targets(flags)));
  }
  return model;
}

cost::HeadPolicy head_policy(const ModelFlags& flags) {
  return flags.heads == "pad" ? cost::HeadPolicy::kPad : cost::HeadPolicy::kReplicate;
}

}  // namespace omnibal::cli
