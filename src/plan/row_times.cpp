// SPDX-License-Identifier: Apache-2.0
#include "plan/row_times.h"

#include <algorithm>
#include <numeric>

namespace omnibal::plan {

RowTimes::RowTimes(const StepPipeline& pipeline, std::span<const cost::Load> loads)
    : pipeline_(&pipeline), order_(loads.size()) {
  const std::span<const cluster::Link> links =
      pipeline.links.empty() ? std::span<const cluster::Link>() : pipeline.links.front();
  rows_ = simulate::pipeline_times(pipeline.stages, links, loads);
  placed_ = rows_;
  std::iota(order_.begin(), order_.end(), 0);
}

void RowTimes::place(std::size_t micro_batch, std::int32_t row) {
  using simulate::PipelineTimes;
  const auto stages = static_cast<std::ptrdiff_t>(rows_.num_stages);
  for (const auto field :
       {&PipelineTimes::forward_s, &PipelineTimes::backward_s, &PipelineTimes::weight_grad_s,
        &PipelineTimes::recompute_s, &PipelineTimes::activation_s, &PipelineTimes::gradient_s}) {
    std::copy_n((rows_.*field).begin() + row * stages, stages,
                (placed_.*field).begin() + static_cast<std::ptrdiff_t>(micro_batch) * stages);
  }
  order_[micro_batch] = row;
}

double RowTimes::seconds(std::span<const std::int32_t> order) {
  for (std::size_t m = 0; m < order.size(); ++m) {
    if (order_[m] != order[m]) place(m, order[m]);
  }
  return simulate::makespan(pipeline_->schedule, placed_);
}

}  // namespace omnibal::plan
