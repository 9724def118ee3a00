// SPDX-License-Identifier: Apache-2.0
#include "train/status_board.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "codec/scratch_directory.h"
#include "omnibal/runtime/comm/thread_ranks.h"

namespace omnibal::runtime {
namespace {

using std::chrono::milliseconds;

/// What rank 0 finds within 1.3 seconds, while `other` is what rank 1 does.
Status look(const ScratchDirectory& scratch, const std::function<void(StatusBoard&)>& other) {
  Status found;
  std::atomic<bool> over = false;
  const Status ran = run_thread_ranks(2, [&](Communicator& world) -> Status {
    OMNIBAL_ASSIGN(const auto board, StatusBoard::open(scratch / "status", world, 1));
    if (world.rank() == 1) {
      board->tell("step 7");
      while (!over) other(*board);
      return {};
    }
    for (int i = 0; i < 13 && found.ok(); ++i) {
      std::this_thread::sleep_for(milliseconds(100));
      found = board->look_around();
    }
    over = true;
    return {};
  });
  EXPECT_TRUE(ran.ok()) << to_text(ran.error());
  return found;
}

void sleep_shortly(StatusBoard&) { std::this_thread::sleep_for(milliseconds(20)); }

TEST(RuntimeStatusBoard, WhoIsSilentAndDoesNotComputeIsStuck) {
  const ScratchDirectory scratch;
  const Status found = look(scratch, sleep_shortly);
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, ErrorCode::kWaitTooLong);
  EXPECT_TRUE(found.error().message.starts_with("rank 1 is stuck"));
  EXPECT_TRUE(found.error().message.ends_with("rank 1: step 7"));
}

TEST(RuntimeStatusBoard, WhoComputesOrWaitsIsNotStuck) {
  const ScratchDirectory scratch;
  EXPECT_TRUE(look(scratch, [](StatusBoard&) {}).ok());  // computes
  EXPECT_TRUE(look(scratch, [](StatusBoard& board) {
                sleep_shortly(board);
                EXPECT_TRUE(board.look_around().ok());
              }).ok());
}

TEST(RuntimeStatusBoard, WhoHasEndedWellOrIsPatientIsNotStuck) {
  const ScratchDirectory scratch;
  EXPECT_TRUE(look(scratch, [ended = false](StatusBoard& board) mutable {
                if (!ended) board.end_well();
                ended = true;
                sleep_shortly(board);
              }).ok());
  EXPECT_TRUE(look(scratch, [told = false](StatusBoard& board) mutable {
                if (!told) board.tell_patiently("saves");
                told = true;
                sleep_shortly(board);
              }).ok());
}

TEST(RuntimeStatusBoard, AProcessThatIsGoneIsNamed) {
  const ScratchDirectory scratch;
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  const Status found = look(scratch, [&](StatusBoard& board) {
    std::fstream file(scratch / "status/rank-1", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(offsetof(StatusRecord, process));
    const std::int64_t process = child;
    file.write(reinterpret_cast<const char*>(&process), sizeof process);
    file.close();
    sleep_shortly(board);
  });
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, ErrorCode::kPeerFailed);
  EXPECT_TRUE(found.error().message.starts_with("rank 1 has died"));
}

}  // namespace
}  // namespace omnibal::runtime
