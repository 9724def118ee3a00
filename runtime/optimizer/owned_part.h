// SPDX-License-Identifier: Apache-2.0
//
// OwnedPart: what one rank keeps of one bucket: its part of the flat weights, masters and moments,
// cut into runs that one optimizer group governs.
//
//   OwnedPart part = make_owned_part(parameters, layout, dp.rank(), dp.size());
//   part.master;   // the weights themselves where these are as precise
//   part.runs[0].group;
//
// Not the gradients: gradient_buckets.h.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "omnibal/runtime/optimizer/trained_parameter.h"
#include "optimizer/bucket_layout.h"

namespace omnibal::runtime {

/// Elements of the part that belong to a parameter.
struct OwnedSlice {
  std::size_t parameter;
  ElementRange within_parameter;
  std::int64_t offset;  // in the part

  std::int64_t size() const { return within_parameter.size(); }
};

/// Neighbouring slices of one group.
struct Run {
  std::size_t group;
  std::int64_t offset;  // in the part
  std::int64_t size;
};

struct OwnedPart {
  at::Tensor weights;      // [layout.size], of all ranks: the parameters are views of it
  at::Tensor own_weights;  // [part]
  at::Tensor master, first_moment, second_moment;  // [part]
  std::vector<OwnedSlice> slices;
  std::vector<Run> runs;
};

/// Moves the parameters' memory into `weights`.
OwnedPart make_owned_part(const std::vector<TrainedParameter>& parameters,
                          const BucketLayout& layout, int rank, int num_ranks);

/// The elements of the slice that this rank counts, as ranges of the part.
std::vector<ElementRange> counted_in(const OwnedSlice& slice, const TrainedParameter& parameter);

}  // namespace omnibal::runtime
