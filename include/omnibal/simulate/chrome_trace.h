// SPDX-License-Identifier: Apache-2.0
//
// The timeline of a step as a Chrome trace, which opens in Perfetto.
//
//   write_file(path, chrome_trace(timelines));
//   chrome_trace(timelines, {memory, step.end.spans});
//
// Not a format to read back.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "omnibal/simulate/pipeline.h"
#include "omnibal/simulate/stage_memory.h"
#include "omnibal/simulate/step_end.h"

namespace omnibal::simulate {

/// What is shown beside the actions.
struct TraceExtras {
  /// [dp][ranks][compute actions], or empty: a counter of the bytes that a rank holds.
  std::span<const std::vector<std::vector<ActionMemory>>> memory;
  /// A thread a rank for the end of the step, or empty.
  std::span<const StepEndSpan> step_end;
};

/// A process a data-parallel rank, a thread a pipeline rank, a slice a forward, backward or weight
/// gradient with the recomputation inside the backward; whole nanoseconds.
std::string chrome_trace(std::span<const Timeline> timelines, const TraceExtras& extras = {});

}  // namespace omnibal::simulate
