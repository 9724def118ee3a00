// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/comm/thread_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace omnibal::runtime {
namespace {

using testing::HasSubstr;

TEST(ThreadRanks, ARankThatFailsEndsTheWaitsOfAllOthers) {
  const Status status = run_thread_ranks(4, [](Communicator& world) -> Status {
    if (world.rank() == 2) return Error(ErrorCode::kOutOfRange, "rank 2 has had enough");
    const Status barrier = world.barrier().wait();
    EXPECT_EQ(barrier.error().message, "rank 2 has had enough");
    EXPECT_EQ(world.health().error().message, "rank 2 has had enough");
    return barrier;
  });
  EXPECT_EQ(status.error().code, ErrorCode::kOutOfRange);
}

TEST(ThreadRanks, AnExceptionIsAnErrorOfItsRank) {
  const Status status = run_thread_ranks(2, [](Communicator& world) -> Status {
    if (world.rank() == 1) throw std::runtime_error("no such kernel");
    char byte = 0;
    return world.receive(&byte, 1, 1, 0).wait();
  });
  EXPECT_EQ(status.error().message, "rank 1: no such kernel");
}

TEST(ThreadRanks, AWaitThatIsTooLongNamesWhomItWaitsFor) {
  const Status status = run_thread_ranks(4, [](Communicator& world) -> Status {
    if (world.rank() >= 2) return {};
    world.limit_waits({.longest = std::chrono::milliseconds(30), .interruption = {}});
    return world.barrier().wait();
  });
  EXPECT_EQ(status.error().code, ErrorCode::kWaitTooLong);
  EXPECT_THAT(status.error().message, HasSubstr("barrier 0 of world, missing ranks 2 3"));
}

TEST(ThreadRanks, AMessageThatNeverComesNamesItsSenderInTheWorld) {
  const Status status = run_thread_ranks(4, [](Communicator& world) -> Status {
    OMNIBAL_ASSIGN(const auto half, world.split(world.rank() / 2, 0, "half"));
    world.limit_waits({.longest = std::chrono::milliseconds(30), .interruption = {}});
    char byte = 0;
    if (world.rank() != 2) return {};
    Request request = half->receive(&byte, 1, 1, 9);
    EXPECT_EQ(request.text(), "receive 9 of half, missing rank 3");
    return request.wait();
  });
  EXPECT_EQ(status.error().code, ErrorCode::kWaitTooLong);
  EXPECT_THAT(status.error().message, HasSubstr("missing rank 3"));
}

TEST(ThreadRanks, AnInterruptionEndsAWait) {
  const Status status = run_thread_ranks(2, [](Communicator& world) -> Status {
    if (world.rank() == 1) return {};
    int asked = 0;
    world.limit_waits({.longest = {}, .interruption = [&asked]() -> Status {
                         if (++asked < 3) return {};
                         return Error(ErrorCode::kPeerFailed, "the watchdog says stop");
                       }});
    return world.barrier().wait();
  });
  EXPECT_EQ(status.error().message, "the watchdog says stop");
}

TEST(ThreadRanks, CallsThatContradictEachOtherAreErrors) {
  const auto sizes = [](Communicator& world) -> Status {
    std::vector<float> values(8);
    const std::size_t count = world.rank() == 0 ? 8 : 7;
    return world.all_reduce(values.data(), count, Element::kF32, Reduction::kSum).wait();
  };
  EXPECT_THAT(run_thread_ranks(2, sizes).error().message,
              HasSubstr("all_reduce of 32 bytes and of 28"));
  const auto kinds = [](Communicator& world) -> Status {
    char byte = 0;
    return (world.rank() == 0 ? world.barrier() : world.broadcast(&byte, 1, 0)).wait();
  };
  EXPECT_THAT(run_thread_ranks(2, kinds).error().message,
              HasSubstr("one calls barrier, the other broadcast"));
  const auto messages = [](Communicator& world) -> Status {
    char bytes[2] = {};
    return (world.rank() == 0 ? world.send(bytes, 2, 1, 0) : world.receive(bytes, 1, 0, 0)).wait();
  };
  EXPECT_THAT(run_thread_ranks(2, messages).error().message,
              HasSubstr("a message of 2 bytes is received as one of 1"));
}

}  // namespace
}  // namespace omnibal::runtime
