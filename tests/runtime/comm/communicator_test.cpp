// SPDX-License-Identifier: Apache-2.0
// One suite for all backends: linked once with threads and once with MPI.
#include "omnibal/runtime/comm/communicator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "runtime/comm/ranks_under_test.h"

namespace omnibal::runtime {
namespace {

using testing::Each;

constexpr std::size_t kCounts[] = {0, 1, 2, 3, 7, 64, 1025, 4099};

/// What rank `rank` contributes at index i: values whose sum depends on the order.
template <class Type>
Type value_of(int rank, std::size_t i) {
  const auto small = static_cast<double>((i * 7 + 3) % 11) + 1.0;
  const double scale = rank % 2 == 0 ? 1.0 : 1e7 / 3.0;
  const double value = small * scale / (rank + 1.0) * (i % 3 == 0 ? -1.0 : 1.0);
  if constexpr (std::is_integral_v<Type>) return static_cast<Type>(static_cast<int>(small) + rank);
  return static_cast<Type>(value);
}

template <class Type>
std::vector<Type> values_of(int rank, std::size_t count) {
  std::vector<Type> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = value_of<Type>(rank, i);
  return values;
}

/// The rule itself: from rank 0 upwards.
template <class Type>
std::vector<Type> folded(int num_ranks, std::size_t count, Reduction reduction) {
  std::vector<Type> result = values_of<Type>(0, count);
  for (int r = 1; r < num_ranks; ++r) {
    for (std::size_t i = 0; i < count; ++i) {
      const Type value = value_of<Type>(r, i);
      result[i] = reduction == Reduction::kSum ? static_cast<Type>(result[i] + value)
                                               : std::max(result[i], value);
    }
  }
  return result;
}

template <class Type>
constexpr Element kElementOf = Element::kF32;
template <>
constexpr Element kElementOf<double> = Element::kF64;
template <>
constexpr Element kElementOf<std::int64_t> = Element::kI64;
template <>
constexpr Element kElementOf<std::uint8_t> = Element::kU8;

template <class Type>
Status check_all_reduce(Communicator& world) {
  for (const std::size_t count : kCounts) {
    for (const Reduction reduction : {Reduction::kSum, Reduction::kMax}) {
      std::vector<Type> values = values_of<Type>(world.rank(), count);
      OMNIBAL_RETURN_IF_ERROR(
          world.all_reduce(values.data(), count, kElementOf<Type>, reduction).wait());
      EXPECT_EQ(values, folded<Type>(world.size(), count, reduction));
    }
  }
  return {};
}

template <class Type>
Status check_reduce_scatter(Communicator& world) {
  for (const std::size_t count : kCounts) {
    const std::size_t total = count * static_cast<std::size_t>(world.size());
    const std::vector<Type> all = values_of<Type>(world.rank(), total);
    std::vector<Type> part(count);
    OMNIBAL_RETURN_IF_ERROR(
        world.reduce_scatter(all.data(), part.data(), count, kElementOf<Type>, Reduction::kSum)
            .wait());
    const std::vector<Type> sums = folded<Type>(world.size(), total, Reduction::kSum);
    const auto mine = sums.begin() + world.rank() * static_cast<std::ptrdiff_t>(count);
    EXPECT_TRUE(std::equal(part.begin(), part.end(), mine));
  }
  return {};
}

TEST(Communicator, AllReduceFoldsInTheOrderOfTheRanks) {
  for_each_world(check_all_reduce<float>);
  for_each_world(check_all_reduce<double>);
  for_each_world(check_all_reduce<std::int64_t>);
  for_each_world(check_all_reduce<std::uint8_t>);
}

TEST(Communicator, ReduceScatterGivesEachRankItsPart) {
  for_each_world(check_reduce_scatter<float>);
  for_each_world(check_reduce_scatter<double>);
  for_each_world(check_reduce_scatter<std::int64_t>);
  for_each_world(check_reduce_scatter<std::uint8_t>);
}

TEST(Communicator, ReduceScatterInPlace) {
  for_each_world([](Communicator& world) -> Status {
    const std::size_t count = 1500;
    std::vector<float> all = values_of<float>(world.rank(), count * world.size());
    float* part = all.data() + count * world.rank();
    OMNIBAL_RETURN_IF_ERROR(
        world.reduce_scatter(all.data(), part, count, Element::kF32, Reduction::kSum).wait());
    const std::vector<float> sums = folded<float>(world.size(), all.size(), Reduction::kSum);
    EXPECT_TRUE(std::equal(part, part + count, sums.begin() + (part - all.data())));
    return {};
  });
}

// Rounding to bf16 after each addition would lose every 1 behind the first 256.
TEST(Communicator, Bf16IsFoldedInFp32AndRoundedOnce) {
  const auto bf16 = [](float value) {
    return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
  };
  for_each_world([&](Communicator& world) -> Status {
    std::vector<std::uint16_t> values(2050, bf16(world.rank() == 0 ? 256.0F : 1.0F));
    values[7] = bf16(std::numeric_limits<float>::quiet_NaN());
    OMNIBAL_RETURN_IF_ERROR(
        world.all_reduce(values.data(), values.size(), Element::kBf16, Reduction::kSum).wait());
    const float exact = 256.0F + static_cast<float>(world.size() - 1);
    EXPECT_EQ(values[7], bf16(std::numeric_limits<float>::quiet_NaN()));
    values.erase(values.begin() + 7);
    // bf16 has steps of 2 from 256 on; a tie goes to the even one, here a multiple of 4.
    const float rounded = 2.0F * std::nearbyint(exact / 2.0F);
    EXPECT_THAT(values, Each(bf16(rounded))) << exact;
    return {};
  });
}

TEST(Communicator, GathersEveryPartInPlaceToo) {
  for_each_world([](Communicator& world) -> Status {
    for (const std::size_t count : kCounts) {
      std::vector<double> all(count * world.size(), -1.0);
      const std::vector<double> mine = values_of<double>(world.rank(), count);
      double* own_row = all.data() + count * world.rank();
      std::copy(mine.begin(), mine.end(), own_row);
      OMNIBAL_RETURN_IF_ERROR(world.all_gather(own_row, all.data(), count * 8).wait());
      for (int r = 0; r < world.size(); ++r) {
        const std::vector<double> row(all.begin() + r * count, all.begin() + (r + 1) * count);
        EXPECT_EQ(row, values_of<double>(r, count));
      }
    }
    return {};
  });
}

TEST(Communicator, BroadcastsFromEveryRoot) {
  for_each_world([](Communicator& world) -> Status {
    for (int root = 0; root < world.size(); ++root) {
      std::vector<float> values = values_of<float>(world.rank(), 333);
      OMNIBAL_RETURN_IF_ERROR(world.broadcast(values.data(), 333 * 4, root).wait());
      EXPECT_EQ(values, values_of<float>(root, 333));
    }
    return {};
  });
}

TEST(Communicator, MessagesMatchByTagWhateverTheirOrder) {
  for_each_world([](Communicator& world) -> Status {
    const int to = (world.rank() + 1) % world.size();
    const int from = (world.rank() + world.size() - 1) % world.size();
    constexpr int kTags[] = {5, 0, kLargestTag, 5};
    std::vector<std::vector<std::int64_t>> sent, received;
    for (int i = 0; i < 4; ++i) {
      sent.emplace_back(kCounts[i + 1], world.rank() * 10 + i);
      received.emplace_back(kCounts[i + 1], -1);
    }
    std::vector<Request> requests;
    for (int i = 0; i < 4; ++i) {
      requests.push_back(world.send(sent[i].data(), sent[i].size() * 8, to, kTags[i]));
    }
    for (const int i : {2, 0, 1, 3}) {
      requests.push_back(world.receive(received[i].data(), received[i].size() * 8, from, kTags[i]));
    }
    for (Request& request : requests) OMNIBAL_RETURN_IF_ERROR(request.wait());
    for (int i = 0; i < 4; ++i) EXPECT_THAT(received[i], Each(from * 10 + i));
    return {};
  });
}

TEST(Communicator, ReceivesMayBePostedLongBeforeTheirSends) {
  for_each_world([](Communicator& world) -> Status {
    const int peer = world.size() - 1 - world.rank();
    std::vector<float> into(10'000);
    Request receive = world.receive(into.data(), into.size() * 4, peer, 1);
    EXPECT_TRUE(peer == world.rank() || !receive.done());
    OMNIBAL_RETURN_IF_ERROR(world.barrier().wait());
    const std::vector<float> from(into.size(), static_cast<float>(world.rank()));
    Request send = world.send(from.data(), from.size() * 4, peer, 1);
    OMNIBAL_RETURN_IF_ERROR(receive.wait());
    OMNIBAL_RETURN_IF_ERROR(send.wait());
    EXPECT_TRUE(send.done() && receive.done());
    EXPECT_THAT(into, Each(static_cast<float>(peer)));
    return {};
  });
}

TEST(Communicator, SplitOrdersByKeyAndKeepsGroupsApart) {
  for_each_world([](Communicator& world) -> Status {
    const int color = world.rank() % 2;
    OMNIBAL_ASSIGN(const auto half, world.split(color, -world.rank(), "half"));
    std::vector<std::int64_t> members(half->size());
    const std::int64_t mine = world.rank();
    OMNIBAL_RETURN_IF_ERROR(half->all_gather(&mine, members.data(), 8).wait());
    std::vector<std::int64_t> expected;
    for (int r = world.size() - 1; r >= 0; --r) {
      if (r % 2 == color) expected.push_back(r);
    }
    EXPECT_EQ(members, expected);
    EXPECT_EQ(members[half->rank()], world.rank());
    EXPECT_EQ(half->name(), "half");
    return {};
  });
}

// Operations of three groups under way at once; each rank waits for them in another order.
TEST(Communicator, GroupsWorkConcurrently) {
  for_each_world([](Communicator& world) -> Status {
    OMNIBAL_ASSIGN(const auto twin, world.split(0, world.rank(), "twin"));
    OMNIBAL_ASSIGN(const auto half, world.split(world.rank() % 2, 0, "half"));
    std::vector<double> a(5000, 1), b(5000, world.rank()), c(5000, 2);
    Communicator* groups[] = {&world, twin.get(), half.get()};
    std::vector<double>* values[] = {&a, &b, &c};
    std::vector<Request> requests(3);
    for (int i = 0; i < 3; ++i) {
      const int at = (i + world.rank()) % 3;
      requests[at] =
          groups[at]->all_reduce(values[at]->data(), 5000, Element::kF64, Reduction::kSum);
    }
    for (Request& request : requests) OMNIBAL_RETURN_IF_ERROR(request.wait());
    EXPECT_THAT(a, Each(world.size()));
    EXPECT_THAT(b, Each(world.size() * (world.size() - 1) / 2));
    EXPECT_THAT(c, Each(2 * half->size()));
    return {};
  });
}

TEST(Communicator, ManyCollectivesMayBeUnderWayInOneGroup) {
  for_each_world([](Communicator& world) -> Status {
    std::vector<std::vector<float>> buckets;
    for (int b = 0; b < 20; ++b) buckets.push_back(values_of<float>(world.rank() + b, 1000 + b));
    std::vector<Request> requests;
    for (auto& bucket : buckets) {
      requests.push_back(
          world.all_reduce(bucket.data(), bucket.size(), Element::kF32, Reduction::kMax));
    }
    for (Request& request : requests) OMNIBAL_RETURN_IF_ERROR(request.wait());
    for (int b = 0; b < 20; ++b) {
      for (std::size_t i = 0; i < buckets[b].size(); ++i) {
        float largest = value_of<float>(b, i);
        for (int r = 1; r < world.size(); ++r) {
          largest = std::max(largest, value_of<float>(r + b, i));
        }
        EXPECT_EQ(buckets[b][i], largest);
      }
    }
    return {};
  });
}

TEST(Communicator, AnInterruptionThatSaysNothingChangesNothing) {
  for_each_world([](Communicator& world) -> Status {
    world.limit_waits(
        {.longest = std::chrono::minutes(1), .interruption = [] { return Status(); }});
    return world.barrier().wait();
  });
}

}  // namespace
}  // namespace omnibal::runtime
