// SPDX-License-Identifier: Apache-2.0
//
// CommunicatorGroup: the tensor-parallel group over a Communicator, whatever its backend.
//
//   const CommunicatorGroup group(*groups.tp);
//   Stage stage = make_stage(config, {.first = 0, .end = 12, .group = &group});
//   try { run_backward(stage, dy, pass, tape); } catch (const CommunicationFailure& failure) { ...
//   }
//
// Not for hiding communication: each call waits.
#pragma once

#include <exception>

#include "omnibal/base/error.h"
#include "omnibal/runtime/comm/communicator.h"
#include "omnibal/runtime/layers/tensor_group.h"

namespace omnibal::runtime {

/// What a wait inside of a layer ends with if it fails: automatic differentiation hands on nothing
/// else than exceptions.
class CommunicationFailure : public std::exception {
 public:
  explicit CommunicationFailure(Error error) : error_(std::move(error)) {}
  const Error& error() const { return error_; }
  const char* what() const noexcept override { return error_.message.c_str(); }

 private:
  Error error_;
};

/// Throws CommunicationFailure.
class CommunicatorGroup : public TensorGroup {
 public:
  /// `communicator` outlives this.
  explicit CommunicatorGroup(Communicator& communicator) : communicator_(communicator) {}

  std::int64_t rank() const override { return communicator_.rank(); }
  std::int64_t size() const override { return communicator_.size(); }
  void all_reduce_sum(const at::Tensor& tensor) const override;
  void all_reduce_max(const at::Tensor& tensor) const override;
  at::Tensor all_gather(const at::Tensor& part) const override;
  at::Tensor reduce_scatter(const at::Tensor& whole) const override;

 private:
  Communicator& communicator_;
};

}  // namespace omnibal::runtime
