// SPDX-License-Identifier: Apache-2.0
#include "mpi/rounds.h"

#include <cstring>
#include <memory>

#include "comm/fold.h"

namespace omnibal::runtime {
namespace {

using Direction = Transfer::Direction;

std::byte* bytes_at(const void* data, std::size_t offset) {
  // Only receives write, and they are given `out`.
  return static_cast<std::byte*>(const_cast<void*>(data)) + offset;
}

void add_send(Round& round, const void* data, std::size_t bytes, int peer) {
  if (bytes > 0) round.transfers.push_back({Direction::kSend, bytes_at(data, 0), bytes, peer});
}

void add_receive(Round& round, void* data, std::size_t bytes, int peer) {
  if (bytes > 0) round.transfers.push_back({Direction::kReceive, bytes_at(data, 0), bytes, peer});
}

/// Below this an all_reduce is one round instead of two.
constexpr std::size_t kSmallBytes = 1024;

/// Each rank's part of what this rank folds.
class Parts {
 public:
  Parts(int size, std::size_t bytes) : own_(new std::byte[bytes * size]), bytes_(bytes) {
    for (int r = 0; r < size; ++r) parts_.push_back(own_.get() + bytes * r);
  }
  std::byte* of(int rank) { return own_.get() + bytes_ * rank; }
  /// This rank's own part lies in its data: nothing is copied.
  void set(int rank, const void* data) { parts_[static_cast<std::size_t>(rank)] = data; }
  void fold(void* out, std::size_t count, const Collective& call) const {
    fold_in_rank_order(parts_, out, count, call.element, call.reduction);
  }

 private:
  std::unique_ptr<std::byte[]> own_;
  std::size_t bytes_;
  std::vector<const void*> parts_;
};

/// The other ranks, beginning behind this one, so that not all send to rank 0 first.
std::vector<int> peers_of(int rank, int size) {
  std::vector<int> peers;
  for (int step = 1; step < size; ++step) peers.push_back((rank + step) % size);
  return peers;
}

std::vector<Round> small_all_reduce(const Collective& call, int rank, int size) {
  auto parts = std::make_shared<Parts>(size, call.bytes());
  parts->set(rank, call.in);
  Round round;
  for (const int peer : peers_of(rank, size)) {
    add_receive(round, parts->of(peer), call.bytes(), peer);
    add_send(round, call.in, call.bytes(), peer);
  }
  round.then = [=] { parts->fold(call.out, call.count, call); };
  return {std::move(round)};
}

std::vector<Round> all_reduce(const Collective& call, int rank, int size) {
  if (call.bytes() <= kSmallBytes) return small_all_reduce(call, rank, size);
  const std::size_t each = element_size(call.element);
  const auto part_at = [&](int r) {
    return bytes_at(call.out, part_range(call.count, size, r).begin * each);
  };
  const auto part_bytes = [&](int r) { return part_range(call.count, size, r).size() * each; };
  auto parts = std::make_shared<Parts>(size, part_bytes(rank));
  parts->set(rank, part_at(rank));
  Round scatter, gather;
  for (const int peer : peers_of(rank, size)) {
    add_receive(scatter, parts->of(peer), part_bytes(rank), peer);
    add_send(scatter, part_at(peer), part_bytes(peer), peer);
    add_receive(gather, part_at(peer), part_bytes(peer), peer);
    add_send(gather, part_at(rank), part_bytes(rank), peer);
  }
  scatter.then = [=, out = part_at(rank), count = part_bytes(rank) / each] {
    parts->fold(out, count, call);
  };
  return {std::move(scatter), std::move(gather)};
}

std::vector<Round> reduce_scatter(const Collective& call, int rank, int size) {
  const std::size_t bytes = call.bytes();
  auto parts = std::make_shared<Parts>(size, bytes);
  parts->set(rank, bytes_at(call.in, bytes * rank));
  Round round;
  for (const int peer : peers_of(rank, size)) {
    add_receive(round, parts->of(peer), bytes, peer);
    add_send(round, bytes_at(call.in, bytes * peer), bytes, peer);
  }
  round.then = [=] { parts->fold(call.out, call.count, call); };
  return {std::move(round)};
}

std::vector<Round> all_gather(const Collective& call, int rank, int size) {
  const std::size_t bytes = call.bytes();
  Round round;
  for (const int peer : peers_of(rank, size)) {
    add_receive(round, bytes_at(call.out, bytes * peer), bytes, peer);
    add_send(round, call.in, bytes, peer);
  }
  std::byte* own = bytes_at(call.out, bytes * rank);
  if (bytes > 0 && own != call.in) {
    round.then = [=] { std::memcpy(own, call.in, bytes); };
  }
  return {std::move(round)};
}

/// A binomial tree: counted from the root, the parent of a rank lacks its lowest set bit.
std::vector<Round> broadcast(const Collective& call, int rank, int size) {
  const int from_root = (rank - call.root + size) % size;
  const auto rank_at = [&](int distance) { return (call.root + distance) % size; };
  Round receive, send;
  int bit = 1;
  for (; bit < size && (from_root & bit) == 0; bit *= 2) {
  }
  if (from_root != 0) add_receive(receive, call.out, call.bytes(), rank_at(from_root - bit));
  for (int child = bit / 2; child > 0; child /= 2) {
    if (from_root + child < size) {
      add_send(send, call.out, call.bytes(), rank_at(from_root + child));
    }
  }
  return {std::move(receive), std::move(send)};
}

/// Dissemination: after round k a rank has heard, if not directly, of 2^k others.
std::vector<Round> barrier(int rank, int size) {
  std::vector<Round> rounds;
  for (int distance = 1; distance < size; distance *= 2) {
    Round round;
    round.transfers = {{Direction::kReceive, nullptr, 0, (rank - distance + size) % size},
                       {Direction::kSend, nullptr, 0, (rank + distance) % size}};
    rounds.push_back(std::move(round));
  }
  return rounds;
}

}  // namespace

std::vector<Round> collective_rounds(const Collective& call, int rank, int size) {
  switch (call.kind) {
    case CollectiveKind::kAllReduce:
      return all_reduce(call, rank, size);
    case CollectiveKind::kReduceScatter:
      return reduce_scatter(call, rank, size);
    case CollectiveKind::kAllGather:
      return all_gather(call, rank, size);
    case CollectiveKind::kBroadcast:
      return broadcast(call, rank, size);
    case CollectiveKind::kBarrier:
      return barrier(rank, size);
  }
  return {};
}

}  // namespace omnibal::runtime
