// SPDX-License-Identifier: Apache-2.0
//
// What all backends' communicators have in common: who the group is, and collectives as data.
//
//   class MyCommunicator : public GroupCommunicator {
//     Request meet(const Collective& call, std::int64_t sequence, std::string text) override;
//   };
//
// Not public: users see a Communicator.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "comm/collective.h"
#include "comm/operation.h"
#include "comm/split_groups.h"
#include "omnibal/runtime/comm/communicator.h"

namespace omnibal::runtime {

/// One rank's view of a group.
struct Group {
  std::shared_ptr<RankState> state;
  int context = 0;  // tells apart the groups that a rank is in
  int rank = 0;
  std::vector<int> members;  // world ranks, by rank in the group
  std::string name;

  int size() const { return static_cast<int>(members.size()); }
  int world_rank(int member) const { return members[static_cast<std::size_t>(member)]; }
};

/// The group that `split` makes of `parent`.
Group subgroup(const Group& parent, const SplitGroup& split, int context, std::string name);

class GroupCommunicator : public Communicator {
 public:
  explicit GroupCommunicator(Group group) : group_(std::move(group)) {}

  int rank() const override { return group_.rank; }
  int size() const override { return group_.size(); }
  const std::string& name() const override { return group_.name; }

  Request all_reduce(void* data, std::size_t count, Element element, Reduction reduction) override;
  Request reduce_scatter(const void* all, void* part, std::size_t count_each, Element element,
                         Reduction reduction) override;
  Request all_gather(const void* part, void* all, std::size_t bytes_each) override;
  Request broadcast(void* data, std::size_t bytes, int root) override;
  Request barrier() override;

  void limit_waits(WaitLimits limits) override;
  void fail(const Error& error) override;
  Status health() const override;

 protected:
  /// Starts the collective number `sequence` of this group.
  virtual Request meet(const Collective& call, std::int64_t sequence, std::string text) = 0;

  const Group& group() const { return group_; }
  /// The number of the next collective: the same on all ranks.
  std::int64_t next_sequence() const { return sequence_; }

 private:
  Request start(const Collective& call);

  Group group_;
  std::int64_t sequence_ = 0;
};

}  // namespace omnibal::runtime
