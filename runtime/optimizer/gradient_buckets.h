// SPDX-License-Identifier: Apache-2.0
//
// GradientBuckets: all gradients in flat buffers of fp32 (fp64 for fp64 weights) into which
// backward accumulates, reduced over the data-parallel ranks while backward fills the next one.
//
//   buckets.begin_step(num_micro_batches);
//   ... backward, whose hooks call buckets.accumulated(i) ...
//   OMNIBAL_RETURN_IF_ERROR(buckets.reduce_rest());
//   OMNIBAL_RETURN_IF_ERROR(buckets.wait(0));   // buckets.own_part(0) holds the sum
//
// Not averaged: sums of what each micro-batch's backward gave.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "omnibal/runtime/comm/communicator.h"
#include "omnibal/runtime/optimizer/trained_parameter.h"
#include "optimizer/bucket_layout.h"

namespace omnibal::runtime {

/// The element type of `type` on the wire.
Element element_of(at::ScalarType type);

class GradientBuckets {
 public:
  /// Parameters and `dp` outlive this. Sets the parameters' gradients to views of the buckets.
  GradientBuckets(const std::vector<TrainedParameter>& parameters,
                  std::vector<BucketLayout> layouts, Communicator& dp);
  ~GradientBuckets();
  GradientBuckets(const GradientBuckets&) = delete;
  GradientBuckets& operator=(const GradientBuckets&) = delete;

  /// Gradients become 0. A parameter is complete after `num_backwards` times its uses.
  void begin_step(int num_backwards);
  /// One more addition to a parameter's gradient is to come than begin_step counts.
  void deferred(std::size_t parameter);
  /// One more addition to a parameter's gradient. A bucket all of whose parameters are complete is
  /// reduced once those before it are, so that all ranks reduce in the same order.
  void accumulated(std::size_t parameter);
  /// Sums late parameters over the model's ranks and reduces what no addition has completed.
  Status reduce_rest();

  std::size_t size() const { return buckets_.size(); }
  const BucketLayout& layout(std::size_t bucket) const { return buckets_[bucket].layout; }
  Status wait(std::size_t bucket) { return buckets_[bucket].reduction.wait(); }
  /// This rank's part of the bucket's sum, once `wait` has returned.
  at::Tensor own_part(std::size_t bucket) const;

 private:
  struct Bucket {
    BucketLayout layout;
    at::Tensor gradients;  // [layout.size]
    int num_incomplete = 0;
    bool late = false;
    Request reduction;
  };

  static constexpr std::size_t kNoBucket = ~std::size_t{0};  // of parameters without elements

  void attach(std::size_t parameter, const at::Tensor& view);
  void reduce(Bucket& bucket);

  const std::vector<TrainedParameter>& parameters_;
  Communicator& dp_;
  std::vector<Bucket> buckets_;
  std::vector<std::size_t> bucket_of_;  // by parameter
  std::vector<int> num_missing_;        // additions, by parameter
  std::size_t next_to_reduce_ = 0;
};

}  // namespace omnibal::runtime
