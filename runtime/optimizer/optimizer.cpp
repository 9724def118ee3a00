// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/optimizer/optimizer.h"

#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/full.h>
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "optimizer/gradient_buckets.h"
#include "optimizer/owned_part.h"

namespace omnibal::runtime {

struct Optimizer::Implementation {
  Implementation(std::vector<TrainedParameter> trained, OptimizerOptions chosen, Communicator& same,
                 Communicator& all);

  std::optional<std::size_t> find(const at::Tensor& parameter) const;
  Result<double> gradient_norm();
  void step_bucket(std::size_t bucket, double factor, double lr_factor);
  Status gather_weights();

  std::vector<TrainedParameter> parameters;
  OptimizerOptions options;
  Communicator& dp;
  Communicator& world;
  GradientBuckets gradients;
  std::vector<OwnedPart> parts;  // by bucket
  std::unordered_map<const c10::TensorImpl*, std::size_t> index_of;
  std::int64_t step = 0;
};

namespace {

std::vector<BucketLayout> layouts_of(const std::vector<TrainedParameter>& parameters,
                                     const OptimizerOptions& options, int num_ranks) {
  std::vector<SizedParameter> sized;
  for (const TrainedParameter& parameter : parameters) {
    sized.push_back({parameter.tensor.numel(), static_cast<bool>(parameter.sum_over_model)});
  }
  return lay_out_buckets(sized, options.bucket_size, num_ranks);
}

Status check(const std::vector<TrainedParameter>& parameters, const OptimizerOptions& options) {
  for (const TrainedParameter& parameter : parameters) {
    const at::ScalarType type = parameter.tensor.scalar_type();
    const bool known = type == at::kFloat || type == at::kDouble || type == at::kBFloat16;
    if (!known || type != parameters.front().tensor.scalar_type() ||
        !parameter.tensor.is_contiguous()) {
      return Error(ErrorCode::kWrongType,
                   "parameters must be contiguous and all of fp32, all of fp64 or all of bf16")
          .at_key(parameter.name);
    }
    if (parameter.group >= options.groups.size()) {
      return Error(ErrorCode::kInvalidArgument, "no such optimizer group")
          .at_key(parameter.name)
          .with_value(static_cast<std::int64_t>(parameter.group))
          .with_limit(static_cast<std::int64_t>(options.groups.size()) - 1);
    }
  }
  return {};
}

/// In fp64 and in a fixed order: a sum of many fp32 squares would depend on how they are cut into
/// parts. Eight sums, so that additions do not wait for each other.
template <class T>
double sum_of_squares(const T* values, std::int64_t count) {
  std::array<double, 8> sums = {};
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    for (std::size_t lane = 0; lane < 8; ++lane) {
      const auto value = static_cast<double>(values[i + static_cast<std::int64_t>(lane)]);
      sums[lane] += value * value;
    }
  }
  for (; i < count; ++i) sums[0] += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

double sum_of_squares(const at::Tensor& gradient, const ElementRange& range) {
  if (gradient.scalar_type() == at::kDouble) {
    return sum_of_squares(gradient.const_data_ptr<double>() + range.begin, range.size());
  }
  return sum_of_squares(gradient.const_data_ptr<float>() + range.begin, range.size());
}

}  // namespace

Optimizer::Implementation::Implementation(std::vector<TrainedParameter> trained,
                                          OptimizerOptions chosen, Communicator& same,
                                          Communicator& all)
    : parameters(std::move(trained)),
      options(std::move(chosen)),
      dp(same),
      world(all),
      gradients(parameters, layouts_of(parameters, options, dp.size()), dp) {
  for (std::size_t b = 0; b < gradients.size(); ++b) {
    parts.push_back(make_owned_part(parameters, gradients.layout(b), dp.rank(), dp.size()));
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    index_of.emplace(parameters[i].tensor.unsafeGetTensorImpl(), i);
  }
}

std::optional<std::size_t> Optimizer::Implementation::find(const at::Tensor& parameter) const {
  const auto found = index_of.find(parameter.unsafeGetTensorImpl());
  return found == index_of.end() ? std::nullopt : std::optional(found->second);
}

Result<double> Optimizer::Implementation::gradient_norm() {
  double squares = 0;
  for (std::size_t b = 0; b < gradients.size(); ++b) {
    OMNIBAL_RETURN_IF_ERROR(gradients.wait(b));
    const at::Tensor part = gradients.own_part(b);
    for (const OwnedSlice& slice : parts[b].slices) {
      for (const ElementRange& range : counted_in(slice, parameters[slice.parameter])) {
        squares += sum_of_squares(part, range);
      }
    }
  }
  OMNIBAL_RETURN_IF_ERROR(world.all_reduce(&squares, 1, Element::kF64, Reduction::kSum).wait());
  return std::sqrt(squares);
}

void Optimizer::Implementation::step_bucket(std::size_t bucket, double factor, double lr_factor) {
  OwnedPart& part = parts[bucket];
  const at::Tensor gradient = gradients.own_part(bucket);
  // fp32 gradients are scaled in the pass of the step, which divides them.
  std::optional<at::Tensor> divisor;
  if (gradient.scalar_type() == at::kFloat && factor != 0) {
    divisor = at::full({}, 1 / factor, at::dtype(at::kFloat));
  } else {
    gradient.mul_(factor);
  }
  const at::Tensor count = at::full({}, static_cast<double>(step + 1), at::dtype(at::kFloat));
  for (const Run& run : part.runs) {
    const GroupSettings& group = options.groups[run.group];
    const auto of = [&](const at::Tensor& tensor) {
      return std::vector<at::Tensor>{tensor.narrow(0, run.offset, run.size)};
    };
    at::_fused_adamw_(of(part.master), of(gradient), of(part.first_moment), of(part.second_moment),
                      {}, {count}, group.lr * lr_factor, options.beta1, options.beta2,
                      group.weight_decay, options.eps, /*amsgrad=*/false, /*maximize=*/false,
                      divisor);
  }
}

Status Optimizer::Implementation::gather_weights() {
  std::vector<Request> requests;
  for (OwnedPart& part : parts) {
    if (!part.master.is_same(part.own_weights)) part.own_weights.copy_(part.master);
    if (dp.size() == 1) continue;
    requests.push_back(dp.all_gather(part.own_weights.const_data_ptr(),
                                     part.weights.mutable_data_ptr(), part.own_weights.nbytes()));
  }
  for (Request& request : requests) OMNIBAL_RETURN_IF_ERROR(request.wait());
  return {};
}

std::string_view name_of(StateKind kind) {
  switch (kind) {
    case StateKind::kMaster:
      return "master";
    case StateKind::kFirstMoment:
      return "exp_avg";
    case StateKind::kSecondMoment:
      return "exp_avg_sq";
  }
  return "";
}

Optimizer::Optimizer(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}

Optimizer::~Optimizer() = default;

Result<std::unique_ptr<Optimizer>> Optimizer::make(std::vector<TrainedParameter> parameters,
                                                   OptimizerOptions options, Communicator& dp,
                                                   Communicator& world) {
  OMNIBAL_RETURN_IF_ERROR(check(parameters, options));
  return std::unique_ptr<Optimizer>(new Optimizer(
      std::make_unique<Implementation>(std::move(parameters), std::move(options), dp, world)));
}

void Optimizer::begin_step(int num_backwards) {
  implementation_->gradients.begin_step(num_backwards);
}

void Optimizer::deferred(const at::Tensor& parameter) {
  if (const auto index = implementation_->find(parameter)) {
    implementation_->gradients.deferred(*index);
  }
}

void Optimizer::accumulated(const at::Tensor& parameter) {
  if (const auto index = implementation_->find(parameter)) {
    implementation_->gradients.accumulated(*index);
  }
}

Result<StepReport> Optimizer::finish_step(double scale) {
  Implementation& own = *implementation_;
  OMNIBAL_RETURN_IF_ERROR(own.gradients.reduce_rest());
  OMNIBAL_ASSIGN(const double unscaled, own.gradient_norm());
  const StepReport report = {unscaled * std::abs(scale),
                             learning_rate_factor(own.options.schedule, own.step)};
  if (!std::isfinite(report.gradient_norm)) {
    return Error(ErrorCode::kOutOfRange,
                 fmt::format("the gradient norm of step {} is not finite", own.step))
        .with_value(report.gradient_norm)
        .with_hint("lower the learning rate, or look for broken samples in this step");
  }
  const double max_norm = own.options.max_norm;
  // As torch.nn.utils.clip_grad_norm_.
  const double clip = max_norm > 0 ? std::min(1.0, max_norm / (report.gradient_norm + 1e-6)) : 1.0;
  for (std::size_t b = 0; b < own.parts.size(); ++b) {
    own.step_bucket(b, scale * clip, report.lr_factor);
  }
  ++own.step;
  OMNIBAL_RETURN_IF_ERROR(own.gather_weights());
  return report;
}

std::int64_t Optimizer::step() const { return implementation_->step; }

void Optimizer::set_step(std::int64_t step) { implementation_->step = step; }

std::vector<StatePiece> Optimizer::state() {
  std::vector<StatePiece> pieces;
  for (const OwnedPart& part : implementation_->parts) {
    for (const OwnedSlice& slice : part.slices) {
      const std::string_view name = implementation_->parameters[slice.parameter].name;
      const auto add = [&](StateKind kind, const at::Tensor& values) {
        pieces.push_back({name, kind, slice.within_parameter.begin,
                          values.narrow(0, slice.offset, slice.size())});
      };
      add(StateKind::kMaster, part.master);
      add(StateKind::kFirstMoment, part.first_moment);
      add(StateKind::kSecondMoment, part.second_moment);
    }
  }
  return pieces;
}

Status Optimizer::publish_weights() { return implementation_->gather_weights(); }

}  // namespace omnibal::runtime
