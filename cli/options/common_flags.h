// SPDX-License-Identifier: Apache-2.0
//
// The flags that every command takes, declared once.
#pragma once

#include <string>
#include <vector>

#include "cli/options/flag.h"

namespace omnibal::cli {

struct CommonOptions {
  bool json = false;
  std::string config;
  std::int64_t seed = 0;
  std::int64_t threads = 0;
  bool quiet = false;
  bool verbose = false;
};

/// Bound to `options`, which must outlive the flags.
std::vector<Flag> common_flags(CommonOptions& options);

}  // namespace omnibal::cli
