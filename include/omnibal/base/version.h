// SPDX-License-Identifier: Apache-2.0
//
// The version of the library, as files and answers carry it.
//
//   provenance["tool"] = fmt::format("omnibal {}", version());
//   version();   // "0.1.0"
//
// Not the version of a file format: each file carries its own.
#pragma once

#include <string_view>

namespace omnibal {

/// Version of the library, "0.1.0".
std::string_view version();

}  // namespace omnibal
