// SPDX-License-Identifier: Apache-2.0
//
// One layer of profile.json.
#pragma once

#include <string>

#include "omnibal/base/result.h"
#include "omnibal/codec/json.h"
#include "omnibal/cost/profile.h"

namespace omnibal::cost {

/// The entry `index` of `layers`. Errors name file, layer and key.
Result<LayerProfile> read_layer(const codec::Json& json, const std::string& file,
                                std::size_t index);

/// kOutOfRange for a choice that keeps more than the layer's whole activation at the profile's
/// load.
Status check_choices(const Profile& profile);

}  // namespace omnibal::cost
