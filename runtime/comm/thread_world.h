// SPDX-License-Identifier: Apache-2.0
//
// ThreadWorld: the memory in which ranks of one process meet. Whoever comes second to a message, or
// last to a collective, moves the bytes and ends the operation of all.
//
//   world.send({context, 0, 1, tag}, {data, bytes}, operation);
//   world.receive({context, 0, 1, tag}, {into, bytes}, operation);   // copies, ends both
//   world.arrive({context, sequence}, members, rank, collective, operation);
//
// Not lock-free: one mutex a world, held while bytes are copied, so that no buffer is touched after
// `fail` has returned.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <vector>

#include "comm/collective.h"
#include "comm/operation.h"

namespace omnibal::runtime {

class ThreadWorld : public World {
 public:
  struct Route {
    int context, from, to, tag;
    auto operator<=>(const Route&) const = default;
  };
  struct Message {
    const void* from;
    void* into;
    std::size_t bytes;
    std::shared_ptr<Operation> operation;
  };
  struct Meeting {
    int context;
    std::int64_t sequence;
    auto operator<=>(const Meeting&) const = default;
  };

  std::optional<Error> failure() override;
  void fail(const Error& error) override;

  void send(const Route& route, Message message);
  void receive(const Route& route, Message message);
  void arrive(const Meeting& meeting, int rank, int num_ranks, const Collective& call,
              std::shared_ptr<Operation> operation);
  /// Ranks of the group that have not arrived; none once all have.
  std::vector<int> absent(const Meeting& meeting);
  /// The same number for every rank of the group that splits off with `color` in this meeting.
  int context_of(const Meeting& meeting, int color);

 private:
  struct Arrivals {
    int num_arrived = 0;
    std::vector<Collective> calls;
    std::vector<std::shared_ptr<Operation>> operations;  // null: not yet arrived
  };

  void match(std::deque<Message>& senders, std::deque<Message>& receivers, const Route& route);
  void finish(Arrivals& arrivals, const Meeting& meeting);
  void fail_locked(const Error& error);

  std::mutex mutex_;
  std::optional<Error> failure_;
  std::map<Route, std::pair<std::deque<Message>, std::deque<Message>>> messages_;
  std::map<Meeting, Arrivals> meetings_;
  std::map<std::tuple<int, std::int64_t, int>, int> contexts_;
};

}  // namespace omnibal::runtime
