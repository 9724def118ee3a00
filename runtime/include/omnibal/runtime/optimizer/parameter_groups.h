// SPDX-License-Identifier: Apache-2.0
//
// Which parameters train, at what rate, and which of them decay, by their names in files.
//
//   const GroupRules rules = {.lr = 1e-4, .weight_decay = 0.05, .frozen = {"vision"}};
//   OMNIBAL_ASSIGN(const auto groups, group_parameters(names, rules));
//   groups.of_parameter[0];   // index into groups.settings; nothing: frozen
//
// Not a choice by shape: a LayerScale decays although it has one dimension, as in transformers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "omnibal/base/result.h"

namespace omnibal::runtime {

/// The parts of a model that rules name: "vision", "projector", "language".
std::optional<std::string_view> part_of(std::string_view parameter_name);

/// Biases and the weights of norms do not decay (as the Trainer of transformers).
bool decays(std::string_view parameter_name);

struct GroupRules {
  double lr = 1e-4;
  double weight_decay = 0;
  std::vector<std::string> frozen = {};        // parts
  std::map<std::string, double> part_lr = {};  // parts with a rate of their own
};

struct GroupSettings {
  double lr = 0;
  double weight_decay = 0;
  bool operator==(const GroupSettings&) const = default;
};

struct ParameterGroups {
  std::vector<GroupSettings> settings;
  std::vector<std::optional<std::size_t>> of_parameter;
};

/// Errors: kOutOfRange (a rule for a part that does not exist), kUnsupportedModel (a parameter of
/// no part).
Result<ParameterGroups> group_parameters(const std::vector<std::string>& names,
                                         const GroupRules& rules);

}  // namespace omnibal::runtime
