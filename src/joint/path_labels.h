// SPDX-License-Identifier: Apache-2.0
//
// PathLabels: of all ways through the last stages, those that the path program (least_paths.h)
// needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "joint/step_path.h"

namespace omnibal::joint {

/// A way through stages s..p-1 from a given begin.
struct PathLabel {
  PathTail tail;
  double squares = 0;     // of the stages' busy ticks: among equals the most even one
  std::int32_t next = 0;  // index of the end in the window behind
  std::int32_t next_label = 0;
};

/// Keeps, shortest path first, the `count` shortest and those that no other beats in all of its
/// tail. False: they were more than `most`. O(labels x most).
bool keep_needed(std::vector<PathLabel>& labels, std::size_t count, std::size_t most);

}  // namespace omnibal::joint
