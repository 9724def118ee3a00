// SPDX-License-Identifier: Apache-2.0
//
// Profile: what each layer costs on one device, as linear functions of a micro-batch's load.
// Analytic (analytic.h) or measured; the file profile.json of docs/formats/profile.md.
//
//   OMNIBAL_ASSIGN(const Profile profile, read_profile("profile.json"));
//   const std::vector<LayerCost> costs = evaluate(profile, {9, 4096, 4.0e6});
//   costs[0].forward_s;
//
// Not for stages: room metrics sums layers up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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

/// The largest load that files and flags may ask for; far above any context length.
inline constexpr Load kLargestLoad{1e9, 1e9, 1e18};
/// Finite, not negative, no part above kLargestLoad's.
bool is_allowed(const Load& load);

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
  /// 0 at every load.
  bool is_zero() const;
  LinearCost& operator+=(const LinearCost& other);
  friend bool operator==(const LinearCost&, const LinearCost&) = default;
};
LinearCost operator*(double factor, const LinearCost& cost);

/// A way to keep less of a layer between forward and backward, beside recomputing all of it:
/// recomputing a part ("attention", "mlp"), or moving its activations elsewhere ("offload").
struct RecomputeChoice {
  std::string name;
  LinearCost recompute_s;      // what it adds to the backward
  LinearCost kept_bytes;       // instead of activation_bytes
  LinearCost transient_bytes;  // rebuilt at once, on top while the layer runs
};

struct LayerProfile {
  std::string name;
  std::optional<model::LayerKind> kind;
  bool trainable = true;
  double parameters = 0;          // of the whole layer, not of a device's shard
  double adapter_parameters = 0;  // among them; above 0: only they train
  LinearCost forward_s, input_grad_s, weight_grad_s, recompute_s;
  LinearCost activation_bytes, recomputed_bytes, static_bytes, boundary_bytes;
  /// Rebuilt at once where the layer recomputes; absent: activation_bytes.
  std::optional<LinearCost> transient_bytes = std::nullopt;
  std::vector<RecomputeChoice> recompute_choices = {};

  /// Whose gradients are reduced and whose optimizer states are held.
  double trained_parameters() const {
    if (!trainable) return 0;
    return adapter_parameters > 0 ? adapter_parameters : parameters;
  }
};

struct Profile {
  std::string source = "manual";  // "manual", "analytic", "measured"
  Load load;                      // the reference load at which tables are shown
  /// Where it comes from, for people: "model", "cluster", "tp", ... in this order in the file.
  std::vector<std::pair<std::string, std::string>> provenance;
  std::vector<LayerProfile> layers;
};

/// One layer at one load, with the rules for frozen layers applied (docs/formats/profile.md):
/// nothing trainable before it: no input gradient, and if itself frozen too: no backward at all, 0
/// kept bytes, never recomputed; frozen: no weight gradient. Bytes are rounded to whole numbers,
/// none negative or above kBytesLimit.
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
  std::optional<std::int64_t> transient_bytes = std::nullopt;  // absent: activation_bytes

  double backward_s() const { return input_grad_s + weight_grad_s; }
  /// On top while it runs backward, if it recomputes.
  std::int64_t transient() const { return transient_bytes.value_or(activation_bytes); }
};

inline constexpr std::int64_t kBytesLimit = std::int64_t{1} << 62;

/// O(layers).
std::vector<LayerCost> evaluate(const Profile& profile, const Load& load);

/// kOutOfRange, naming the layer with most bytes, if a device that held the whole model with
/// `micro_batches` micro-batches of `load` in flight would need kBytesLimit or more. Below that no
/// sum of bytes over layers and micro-batches, a transient on top, leaves 64 bits. Whoever sums
/// bytes up asks this first. O(layers).
Status check_bytes(const Profile& profile, const Load& load, std::int64_t micro_batches);

/// The same rules applied to the coefficients themselves: what a simulation over many loads sums
/// by stage.
struct LayerTimes {
  LinearCost forward_s, backward_s, recompute_s;
  LinearCost weight_grad_s;               // the part of backward_s that is not input gradient
  std::vector<LinearCost> choice_s = {};  // recompute_s of the named choices
};
std::vector<LayerTimes> layer_times(const Profile& profile);

/// Forward seconds of all layers as one function of the load: the "predicted time" of a pack.
LinearCost total_forward(const Profile& profile);

/// Checks everything (the rules of docs/formats/profile.md); errors name file, layer and key.
/// kMissingLayer: a gap in numbered names. kOutOfRange: no layers, a negative or not finite cost, a
/// forward time of zero, a choice that keeps more than the layer's activation. kDuplicateName,
/// kUnknownKey, kMissingKey, kWrongType, and those of read_json and check_format.
Result<Profile> read_profile(const std::string& path);
/// The same of a text already in memory; `origin` is named in errors.
Result<Profile> parse_profile(std::string_view text, const std::string& origin);

/// Written atomically; read_profile gives back every bit of it. Error: kWriteFailed.
Status write_profile(const Profile& profile, const std::string& path);

}  // namespace omnibal::cost
