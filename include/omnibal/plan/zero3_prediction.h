// SPDX-License-Identifier: Apache-2.0
//
// The same corpus on ZeRO-3: every device a data-parallel rank with sharded parameters, no
// pipeline, ranks that wait for each other once a step. What `plan --zero3` prints beside its plan.
//
//   OMNIBAL_ASSIGN(const Zero3Prediction zero3, predict_zero3(task));
//   zero3.baseline.gpu_days / zero3.balanced.gpu_days;    // 1.6: what packs gain there
//
// Not a plan that a trainer executes, and not a prediction of communication: the achieved rate
// contains it (docs/methods/pipeline.md).
#pragma once

#include <cstdint>
#include <span>

#include "omnibal/base/result.h"
#include "omnibal/cluster/cluster.h"
#include "omnibal/codec/json.h"
#include "omnibal/metrics/loads.h"
#include "omnibal/model/model.h"
#include "omnibal/pack/packs.h"

namespace omnibal::plan {

/// What the three runs are made of.
struct Zero3Task {
  const model::ModelSpec& model;
  const cluster::ClusterSpec& cluster;
  double achieved_flops = 0;  // per second of a device, collectives included
  metrics::SampleColumns samples;
  std::span<const std::uint32_t> accepted;
  std::span<const metrics::PackLoad> paper_packs;    // of the paper's packer
  std::span<const metrics::PackLoad> planned_packs;  // of the plan
  double packs_a_step = 1;                           // of the plan, over all ranks
  std::int64_t gpus = 1;
  std::int64_t global_batch = 1024;  // samples
  std::int64_t micro_batch = 4;      // samples that a pack stands for
  std::int64_t memory_bytes = 0;     // of a device
  std::uint64_t seed = 0;
  std::int64_t window = 512;
  int threads = 0;
};

struct Zero3Run {
  std::int64_t steps = 0;
  std::int64_t micro_batches = 0;
  double step_s = 0;  // mean
  double gpu_days = 0;
  std::int64_t peak_bytes = 0;  // at the element-wise worst micro-batch
  std::int64_t recomputed_layers = 0;
};

struct Zero3Prediction {
  double achieved_flops = 0;
  Zero3Run baseline;  // samples shuffled over all ranks, padded; everything recomputes
  Zero3Run balanced;  // the paper's packs in random order; everything recomputes
  Zero3Run planned;   // the plan's packs in groups alike; the least recomputation that fits
};

/// FLOPs per second of a device. Error: kInvalidArgument (not above 0, or above the peak).
Result<double> zero3_rate(double tflops, const cluster::ClusterSpec& cluster);

/// Micro-batches a rank and step: as many as come nearest to the global batch. Errors:
/// kMemoryInfeasible (planned: even with everything recomputed); those of analytic_profile.
/// O(micro-batches x layers).
Result<Zero3Prediction> predict_zero3(const Zero3Task& task);

/// {achieved_flops, baseline, balanced, planned}, the last three with the members of Zero3Run.
codec::Json to_json(const Zero3Prediction& prediction);

}  // namespace omnibal::plan
