// SPDX-License-Identifier: Apache-2.0
//
// Optimizer: AdamW of one rank. Gradients of the data-parallel ranks are summed bucket by bucket
// while backward runs; each rank steps the part of the weights that it owns, from fp32 masters
// (fp64 for fp64 weights), and gathers the others' (ZeRO stage 1, arXiv 1910.02054).
//
//   OMNIBAL_ASSIGN(auto optimizer, Optimizer::make(parameters, options, *groups.dp, world));
//   optimizer->begin_step(num_micro_batches);
//   ... forward and backward ...
//   OMNIBAL_ASSIGN(const StepReport report, optimizer->finish_step(1.0 / num_supervised));
//
// Not the loss scale of fp16, and no choice of what trains: parameter_groups.h.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string_view>
#include <vector>

#include "omnibal/runtime/comm/communicator.h"
#include "omnibal/runtime/optimizer/learning_rate.h"
#include "omnibal/runtime/optimizer/parameter_groups.h"
#include "omnibal/runtime/optimizer/trained_parameter.h"

namespace omnibal::runtime {

struct OptimizerOptions {
  std::vector<GroupSettings> groups;
  LearningRateSchedule schedule = {};
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double max_norm = 1.0;               // of all gradients together; 0: no clipping
  std::int64_t bucket_size = 4 << 20;  // elements reduced together
};

struct StepReport {
  double gradient_norm = 0;  // before clipping, over the whole model
  double lr_factor = 0;
};

enum class StateKind { kMaster, kFirstMoment, kSecondMoment };
std::string_view name_of(StateKind kind);  // "master", "exp_avg", "exp_avg_sq"

/// What this rank owns of one state of one parameter: elements [begin, begin + values.numel()) of
/// the flattened tensor of this rank's shard.
struct StatePiece {
  std::string_view parameter;
  StateKind kind;
  std::int64_t begin;
  at::Tensor values;  // a view: reading and writing it is saving and loading
};

class Optimizer {
 public:
  /// The communicators outlive the optimizer: `dp` holds the ranks with the same parameters,
  /// `world` all of them. Collective over `dp`. Moves the parameters' memory into flat buffers and
  /// sets their gradients. Errors: kWrongType (not all of one floating type, or not contiguous),
  /// kInvalidArgument (no such group).
  static Result<std::unique_ptr<Optimizer>> make(std::vector<TrainedParameter> parameters,
                                                 OptimizerOptions options, Communicator& dp,
                                                 Communicator& world);
  ~Optimizer();

  /// Gradients become 0. After `num_backwards` backward passes a parameter's gradient is complete
  /// and its bucket's reduction begins; 0: all begin in finish_step.
  void begin_step(int num_backwards);
  /// For gradients that are added by hand behind the backward (deferred weight gradients): one more
  /// is to come; it was added.
  void deferred(const at::Tensor& parameter);
  void accumulated(const at::Tensor& parameter);
  /// Multiplies gradients by `scale`, clips, steps and gathers. A parameter to which nothing was
  /// added has gradient 0. Collective over the world. Errors: kOutOfRange (the norm is not finite:
  /// no weight has changed), those of the communicators.
  Result<StepReport> finish_step(double scale);

  /// Steps taken.
  std::int64_t step() const;
  void set_step(std::int64_t step);
  /// This rank's state. Ascending by parameter within a kind and bucket.
  std::vector<StatePiece> state();
  /// After the masters were changed through `state`: weights from masters. Collective over `dp`.
  Status publish_weights();

 private:
  struct Implementation;
  explicit Optimizer(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace omnibal::runtime
