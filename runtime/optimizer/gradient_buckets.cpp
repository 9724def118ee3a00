// SPDX-License-Identifier: Apache-2.0
#include "optimizer/gradient_buckets.h"

#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <cassert>

namespace omnibal::runtime {
namespace {

class AccumulationHook : public torch::autograd::PostAccumulateGradHook {
 public:
  AccumulationHook(GradientBuckets* buckets, std::size_t parameter)
      : buckets_(buckets), parameter_(parameter) {}
  void operator()(const at::Tensor&) override { buckets_->accumulated(parameter_); }

 private:
  GradientBuckets* buckets_;
  std::size_t parameter_;
};

at::ScalarType gradient_type(at::ScalarType weight_type) {
  return weight_type == at::kDouble ? at::kDouble : at::kFloat;
}

}  // namespace

Element element_of(at::ScalarType type) {
  switch (type) {
    case at::kDouble:
      return Element::kF64;
    case at::kBFloat16:
      return Element::kBf16;
    default:
      assert(type == at::kFloat);
      return Element::kF32;
  }
}

GradientBuckets::GradientBuckets(const std::vector<TrainedParameter>& parameters,
                                 std::vector<BucketLayout> layouts, Communicator& dp)
    : parameters_(parameters),
      dp_(dp),
      bucket_of_(parameters.size(), kNoBucket),
      num_missing_(parameters.size()) {
  for (BucketLayout& layout : layouts) {
    const TrainedParameter& first = parameters[layout.slots.front().parameter];
    Bucket& bucket = buckets_.emplace_back();
    bucket.late = static_cast<bool>(first.sum_over_model);
    bucket.gradients =
        at::zeros({layout.size}, at::dtype(gradient_type(first.tensor.scalar_type())));
    for (const Slot& slot : layout.slots) {
      bucket_of_[slot.parameter] = buckets_.size() - 1;
      attach(slot.parameter, bucket.gradients.narrow(0, slot.offset, slot.size));
    }
    bucket.layout = std::move(layout);
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {  // those without elements: the type counts
    if (bucket_of_[i] == kNoBucket) {
      attach(i, at::zeros({0}, at::dtype(gradient_type(parameters[i].tensor.scalar_type()))));
    }
  }
}

GradientBuckets::~GradientBuckets() {
  for (const TrainedParameter& parameter : parameters_) {
    torch::autograd::impl::set_post_acc_grad_hooks(parameter.tensor, nullptr);
    parameter.tensor.mutable_grad().reset();
  }
}

void GradientBuckets::attach(std::size_t parameter, const at::Tensor& view) {
  const at::Tensor& tensor = parameters_[parameter].tensor;
  tensor.set_grad_dtype(view.scalar_type());
  tensor.mutable_grad() = view.view(tensor.sizes());
  torch::autograd::impl::set_post_acc_grad_hooks(
      tensor, std::make_unique<AccumulationHook>(this, parameter));
}

void GradientBuckets::begin_step(int num_backwards) {
  next_to_reduce_ = 0;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    num_missing_[i] = num_backwards * parameters_[i].uses;
  }
  for (Bucket& bucket : buckets_) {
    bucket.gradients.zero_();
    bucket.num_incomplete = static_cast<int>(bucket.layout.slots.size());
  }
}

void GradientBuckets::deferred(std::size_t parameter) { ++num_missing_[parameter]; }

void GradientBuckets::accumulated(std::size_t parameter) {
  if (--num_missing_[parameter] != 0 || bucket_of_[parameter] == kNoBucket) return;
  --buckets_[bucket_of_[parameter]].num_incomplete;
  while (next_to_reduce_ < buckets_.size()) {
    Bucket& next = buckets_[next_to_reduce_];
    if (next.late || next.num_incomplete > 0) return;
    reduce(next);
  }
}

Status GradientBuckets::reduce_rest() {
  for (const TrainedParameter& parameter : parameters_) {
    if (parameter.sum_over_model) {
      OMNIBAL_RETURN_IF_ERROR(parameter.sum_over_model(parameter.tensor.grad()));
    }
  }
  while (next_to_reduce_ < buckets_.size()) reduce(buckets_[next_to_reduce_]);
  return {};
}

void GradientBuckets::reduce(Bucket& bucket) {
  ++next_to_reduce_;
  if (dp_.size() == 1) return;
  const std::int64_t count = bucket.layout.part_size(dp_.size());
  const at::Tensor& gradients = bucket.gradients;
  auto* all = static_cast<std::byte*>(gradients.mutable_data_ptr());
  const auto part_bytes = static_cast<std::size_t>(count) * gradients.element_size();
  bucket.reduction = dp_.reduce_scatter(
      all, all + part_bytes * static_cast<std::size_t>(dp_.rank()), static_cast<std::size_t>(count),
      element_of(gradients.scalar_type()), Reduction::kSum);
}

at::Tensor GradientBuckets::own_part(std::size_t bucket) const {
  const std::int64_t count = buckets_[bucket].layout.part_size(dp_.size());
  return buckets_[bucket].gradients.narrow(0, count * dp_.rank(), count);
}

}  // namespace omnibal::runtime
