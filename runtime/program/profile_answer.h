// SPDX-License-Identifier: Apache-2.0
//
// What `omnibal-train profile` prints.
//
//   fmt::print("{}", to_text(measured, "profile.json"));
//   to_json(measured, "profile.json")["fits"][3]["residual"]["forward_s"];
//   // 0.02: measurements of layer 3 lie 2 % from the fit
//
// Not the profile itself: cost::write_profile.
#pragma once

#include <string>

#include "omnibal/codec/json.h"
#include "omnibal/runtime/train/profile.h"

namespace omnibal::runtime {

/// {layers, forward_s, out, packs, micro_batches, residual, fits, notes}
codec::Json to_json(const MeasuredProfile& measured, const std::string& out);

/// A table of layers at the profile's load, each cost with how far measurements lie from its fit.
std::string to_text(const MeasuredProfile& measured, const std::string& out);

}  // namespace omnibal::runtime
