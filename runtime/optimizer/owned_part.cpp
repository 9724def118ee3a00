// SPDX-License-Identifier: Apache-2.0
#include "optimizer/owned_part.h"

#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>

namespace omnibal::runtime {
namespace {

void move_into(const at::Tensor& parameter, const at::Tensor& flat) {
  const at::Tensor view = flat.view(parameter.sizes());
  view.copy_(parameter.detach());
  parameter.set_data(view);
}

std::vector<OwnedSlice> slices_of(const BucketLayout& layout, ElementRange part) {
  std::vector<OwnedSlice> slices;
  for (const Slot& slot : layout.slots) {
    const std::int64_t begin = std::max(slot.offset, part.begin);
    const std::int64_t end = std::min(slot.end(), part.end);
    if (begin >= end) continue;
    slices.push_back(
        {slot.parameter, {begin - slot.offset, end - slot.offset}, begin - part.begin});
  }
  return slices;
}

/// Runs reach over the gap between two slots: nothing lives there, and stepping zeros keeps zeros.
std::vector<Run> runs_of(const std::vector<OwnedSlice>& slices,
                         const std::vector<TrainedParameter>& parameters) {
  std::vector<Run> runs;
  for (const OwnedSlice& slice : slices) {
    const std::size_t group = parameters[slice.parameter].group;
    if (runs.empty() || runs.back().group != group) runs.push_back({group, slice.offset, 0});
    runs.back().size = slice.offset + slice.size() - runs.back().offset;
  }
  return runs;
}

}  // namespace

OwnedPart make_owned_part(const std::vector<TrainedParameter>& parameters,
                          const BucketLayout& layout, int rank, int num_ranks) {
  const at::ScalarType type = parameters[layout.slots.front().parameter].tensor.scalar_type();
  const std::int64_t size = layout.part_size(num_ranks);
  OwnedPart part;
  part.weights = at::zeros({layout.size}, at::dtype(type));
  for (const Slot& slot : layout.slots) {
    move_into(parameters[slot.parameter].tensor, part.weights.narrow(0, slot.offset, slot.size));
  }
  part.own_weights = part.weights.narrow(0, size * rank, size);
  const bool precise = type == at::kFloat || type == at::kDouble;
  part.master = precise ? part.own_weights : part.own_weights.to(at::kFloat);
  part.first_moment = at::zeros_like(part.master);
  part.second_moment = at::zeros_like(part.master);
  part.slices = slices_of(layout, {size * rank, size * (rank + 1)});
  part.runs = runs_of(part.slices, parameters);
  return part;
}

std::vector<ElementRange> counted_in(const OwnedSlice& slice, const TrainedParameter& parameter) {
  std::vector<ElementRange> ranges;
  const std::int64_t shift = slice.offset - slice.within_parameter.begin;
  for (const ElementRange& counted : parameter.counted) {
    const std::int64_t begin = std::max(counted.begin, slice.within_parameter.begin);
    const std::int64_t end = std::min(counted.end, slice.within_parameter.end);
    if (begin < end) ranges.push_back({begin + shift, end + shift});
  }
  return ranges;
}

}  // namespace omnibal::runtime
