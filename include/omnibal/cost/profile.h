// SPDX-License-Identifier: Apache-2.0
//
// Profile: what each layer costs on one device, as linear functions of a micro-batch's load.
// Analytic (analytic.h) or measured; the file profile.json of docs/formats.md.
//
//   OMNIBAL_ASSIGN(const Profile profile, read_profile("profile.json"));
//   const std::vector<LayerCost> costs = evaluate(profile, {9, 4096, 4.0e6});
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "omnibal/base/result.h"
#include "omnibal/model/model.h"

namespace omnibal::cost {

/// What a micro-batch asks of a device.
struct Load {
  double vision_units = 0;
  double tokens = 0;
  double token_pairs = 0;  // sum of squared segment lengths: the attention load
};

/// A cost, linear in the load.
struct LinearCost {
  double constant = 0;
  double per_vision_unit = 0;
  double per_token = 0;
  double per_token_pair = 0;

  double at(const Load& load) const {
    return constant + per_vision_unit * load.vision_units + per_token * load.tokens +
           per_token_pair * load.token_pairs;
  }
  LinearCost& operator+=(const LinearCost& other);
};

struct LayerProfile {
  std::string name;
  std::optional<model::LayerKind> kind;
  bool trainable = true;
  double parameters = 0;
  LinearCost forward_s, input_grad_s, weight_grad_s, recompute_s;
  LinearCost activation_bytes, recomputed_bytes, static_bytes, boundary_bytes;
};

struct Profile {
  std::string source = "manual";  // "manual", "analytic", "measured"
  Load load;                      // the reference load at which tables are shown
  std::vector<LayerProfile> layers;
};

/// One layer at one load, with the rules for frozen layers applied (docs/formats.md): nothing
/// trainable before it: no input gradient, and if itself frozen too: no backward at all, 0 kept
/// bytes, never recomputed; frozen: no weight gradient. Bytes are rounded to whole numbers.
struct LayerCost {
  double forward_s = 0;
  double input_grad_s = 0;
  double weight_grad_s = 0;
  double recompute_s = 0;
  std::int64_t activation_bytes = 0;
  std::int64_t recomputed_bytes = 0;
  std::int64_t static_bytes = 0;
  std::int64_t boundary_bytes = 0;
  bool can_recompute = true;  // false: recomputing is meaningless or gains nothing

  double backward_s() const { return input_grad_s + weight_grad_s; }
};

std::vector<LayerCost> evaluate(const Profile& profile, const Load& load);

/// The same rules applied to the coefficients themselves: what a simulation over many loads sums
/// by stage.
struct LayerTimes {
  LinearCost forward_s, backward_s, recompute_s;
};
std::vector<LayerTimes> layer_times(const Profile& profile);

/// Forward seconds of all layers as one function of the load: the "predicted time" of a pack.
LinearCost total_forward(const Profile& profile);

/// Errors name the layer and key (P10: missing layer, zero, NaN, negative time).
Result<Profile> read_profile(const std::string& path);
Status write_profile(const Profile& profile, const std::string& path);

}  // namespace omnibal::cost
