// SPDX-License-Identifier: Apache-2.0
//
// Communicator: the ranks of one group and what they say to each other. Every call starts an
// operation and returns at once; Request::wait ends it. The backends (threads of one process, MPI)
// fold a reduction over the ranks in their order, so that they give the same bits.
//
//   Request sent = pipeline.send(activations, bytes, next_stage, /*tag=*/micro_batch);
//   Request sum = data_parallel.all_reduce(gradients, count, Element::kF32, Reduction::kSum);
//   OMNIBAL_RETURN_IF_ERROR(sum.wait());   // or an Error that names the rank it waited for
//
// Not a tensor library: it moves bytes of the host that outlive the request and that nobody touches
// meanwhile. Collectives are called by every rank of the group, in the same order.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "omnibal/base/result.h"

namespace omnibal::runtime {

enum class Element { kF32, kF64, kBf16, kI64, kU8 };
enum class Reduction { kSum, kMax };

/// Bytes of one element.
std::size_t element_size(Element element);

/// What ends a wait that would never end.
struct WaitLimits {
  std::chrono::milliseconds longest{0};  // of one wait; 0: no limit
  /// Asked in the waiting thread every few milliseconds; an error ends the wait. Empty: nothing.
  std::function<Status()> interruption;
};

class Operation;  // one backend's operation under way

/// A handle of an operation. Dropping it does not stop the operation: its buffers must still
/// outlive it.
class Request {
 public:
  Request() = default;  // nothing to wait for
  explicit Request(std::shared_ptr<Operation> operation) : operation_(std::move(operation)) {}

  /// True once the operation has ended, well or not. Never blocks.
  bool done() const;
  /// Blocks, without spinning, until the operation has ended. Errors: kPeerFailed (a rank called
  /// `fail`, sizes differ), kWaitTooLong (WaitLimits, names the ranks that are missing), the error
  /// of the interruption.
  Status wait();
  /// "all_reduce 17 of dp, missing ranks 2 3": for status files. Empty for nothing.
  std::string text() const;

 private:
  std::shared_ptr<Operation> operation_;
};

class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual const std::string& name() const = 0;

  /// Messages between two ranks match by tag (0 to kLargestTag), in their order within one tag.
  /// Both sides give the same size.
  virtual Request send(const void* data, std::size_t bytes, int to, int tag) = 0;
  virtual Request receive(void* data, std::size_t bytes, int from, int tag) = 0;

  /// In place. bf16 is folded in fp32 and rounded once.
  virtual Request all_reduce(void* data, std::size_t count, Element element,
                             Reduction reduction) = 0;
  /// `all` [size, count_each]; `part` may be this rank's row of `all`.
  virtual Request reduce_scatter(const void* all, void* part, std::size_t count_each,
                                 Element element, Reduction reduction) = 0;
  /// `part` may be this rank's row of `all` [size, bytes_each].
  virtual Request all_gather(const void* part, void* all, std::size_t bytes_each) = 0;
  virtual Request broadcast(void* data, std::size_t bytes, int root) = 0;
  virtual Request barrier() = 0;

  /// The ranks of this group that gave the same color, ordered by (key, rank). Blocks. The new
  /// communicator may outlive this one.
  virtual Result<std::unique_ptr<Communicator>> split(int color, int key, std::string name) = 0;

  /// Limits the waits of this rank in this group and all that were or will be split from it.
  virtual void limit_waits(WaitLimits limits) = 0;
  /// Ends the present and later waits of every rank of the world with this error.
  virtual void fail(const Error& error) = 0;
  /// The error of whichever rank of the world has failed, as far as this one has heard.
  virtual Status health() const = 0;
};

constexpr int kLargestTag = (1 << 22) - 1;

}  // namespace omnibal::runtime
