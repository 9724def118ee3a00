// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "omnibal/base/nearest_name.h"
#include "omnibal/codec/toml.h"
#include "omnibal/runtime/train_config/train_config.h"
#include "train_config/unknown_key.h"

namespace omnibal::runtime {
namespace {

constexpr std::array kKeys = {
    TrainKey{"model", "model directory: config.json and safetensors", true},
    TrainKey{"data", "prepared data, as omnibal scan writes it", true},
    TrainKey{"plan", "plan directory", true},
    TrainKey{"tp", "tensor-parallel ranks [as the plan]"},
    TrainKey{"pp", "pipeline ranks [as the plan]"},
    TrainKey{"dp", "data-parallel ranks [as the plan]"},
    TrainKey{"schedule", "plan, gpipe, 1f1b, interleaved, zb-h1 or zb-v [plan]"},
    TrainKey{"recompute", "plan, none or full [plan]"},
    TrainKey{"precision", "fp32, bf16 or fp64 [bf16]"},
    TrainKey{"loss", "what tokens count: token, sample or square-root [token]"},
    TrainKey{"steps", "steps of the whole training [as many as the epochs have]"},
    TrainKey{"epochs", "times that the plan is run through [1]"},
    TrainKey{"seed", "kept with checkpoints; nothing is drawn without dropout [0]"},
    TrainKey{"log", "JSON Lines, a row a step", true},
    TrainKey{"watchdog", "seconds that a rank may neither compute nor wait [20]"},
    TrainKey{"optimizer.lr", "learning rate at its highest [1e-4]"},
    TrainKey{"optimizer.part_lr", "rates of parts: { vision = 1e-5 }"},
    TrainKey{"optimizer.betas", "decay of the moments [0.9, 0.999]"},
    TrainKey{"optimizer.eps", "added to the root of the second moment [1e-8]"},
    TrainKey{"optimizer.weight_decay", "of all but biases and norms [0]"},
    TrainKey{"optimizer.clip", "largest norm of all gradients together, 0: none [1]"},
    TrainKey{"optimizer.warmup", "steps in which the rate rises from 0 [0]"},
    TrainKey{"optimizer.schedule", "constant, linear or cosine [cosine]"},
    TrainKey{"optimizer.frozen", "parts that do not train: [\"vision\"]"},
    TrainKey{"checkpoint.dir", "where checkpoints go [none are saved]", true},
    TrainKey{"checkpoint.every", "steps between checkpoints [500]"},
    TrainKey{"checkpoint.keep", "how many of the last are kept, 0: all [2]"},
};

codec::Json value_of(std::string_view text) {
  const auto parsed = codec::parse_toml(fmt::format("value = {}", text), "a flag");
  return parsed.ok() ? parsed->at("value") : codec::Json(text);
}

}  // namespace

std::span<const TrainKey> train_keys() { return kKeys; }

Error unknown_key(std::string_view typed, std::string_view origin) {
  std::vector<std::string> names;
  for (const TrainKey& key : kKeys) names.emplace_back(key.name);
  return Error(ErrorCode::kUnknownKey, fmt::format("unknown key \"{}\"", typed))
      .in_file(std::string(origin))
      .at_key(std::string(typed))
      .with_hint(fmt::format("the nearest is \"{}\"", nearest_name(typed, names)));
}

Status override_key(codec::Json& document, std::string_view key, std::string_view text) {
  const auto* const found = std::ranges::find(kKeys, key, &TrainKey::name);
  if (found == kKeys.end()) return unknown_key(key, "");
  const codec::Json value =
      found->is_path ? codec::Json(std::filesystem::absolute(text).string()) : value_of(text);
  const std::size_t dot = key.find('.');
  if (dot == std::string_view::npos) {
    document[std::string(key)] = value;
  } else {
    codec::Json& table = document[std::string(key.substr(0, dot))];
    if (!table.is_null() && !table.is_object()) {
      return Error(ErrorCode::kWrongType, "a table is needed")
          .at_key(std::string(key.substr(0, dot)));
    }
    table[std::string(key.substr(dot + 1))] = value;
  }
  return {};
}

}  // namespace omnibal::runtime
