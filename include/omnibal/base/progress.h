// SPDX-License-Identifier: Apache-2.0
//
// Progress: how a long computation tells whoever started it how far it is. The library never
// prints; the command line hands in a callback that draws a bar.
//
//   void pack(..., const Progress& progress) { report(progress, "packing", done, total); }
//   pack(..., [](std::string_view what, int64_t done, int64_t total) { draw_bar(...); });
//   pack(..., {});   // nobody listens
//
// Not a log, and not a way to stop a computation.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace omnibal {

/// Called from one thread at a time. `total` 0: unknown.
using Progress = std::function<void(std::string_view what, std::int64_t done, std::int64_t total)>;

inline void report(const Progress& progress, std::string_view what, std::int64_t done,
                   std::int64_t total) {
  if (progress) progress(what, done, total);
}

}  // namespace omnibal
