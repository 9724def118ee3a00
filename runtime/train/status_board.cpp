// SPDX-License-Identifier: Apache-2.0
#include "train/status_board.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

#include "omnibal/codec/process_space.h"
#include "train/agreement.h"

namespace omnibal::runtime {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kLongPatience = 600;  // s
constexpr std::chrono::seconds kAway{5};

std::string file_of(const std::string& directory, int rank) {
  return fmt::format("{}/rank-{}", directory, rank);
}

Error cannot_write(const std::string& path) {
  return Error(ErrorCode::kWriteFailed,
               "a status file cannot be made: " + std::generic_category().message(errno))
      .in_file(path);
}

/// The file's record; nothing if it cannot be had.
StatusRecord* map(const std::string& path, bool writes) {
  const int fd =
      ::open(path.c_str(), writes ? O_RDWR | O_CREAT | O_CLOEXEC : O_RDONLY | O_CLOEXEC, 0644);
  if (fd < 0) return nullptr;
  void* mapped = MAP_FAILED;
  if (!writes || ftruncate(fd, sizeof(StatusRecord)) == 0) {
    mapped = mmap(nullptr, sizeof(StatusRecord), writes ? PROT_READ | PROT_WRITE : PROT_READ,
                  MAP_SHARED, fd, 0);
  }
  close(fd);
  return mapped == MAP_FAILED ? nullptr : static_cast<StatusRecord*>(mapped);
}

/// Processor time of the rank's thread; 0 where it is not seen.
std::int64_t ticks_of(const StatusRecord& record) {
  std::ifstream file(fmt::format("/proc/{}/task/{}/stat", record.process, record.thread));
  std::string line;
  std::getline(file, line);
  const std::size_t behind_name = line.rfind(')');
  if (behind_name == std::string::npos) return 0;
  std::istringstream fields(line.substr(behind_name + 1));
  std::string skipped;
  for (int field = 3; field < 14; ++field) fields >> skipped;
  std::int64_t user = 0, system = 0;
  fields >> user >> system;
  return user + system;
}

std::string first_line(const char* text) { return {text, strcspn(text, "\n")}; }

}  // namespace

Result<std::shared_ptr<StatusBoard>> StatusBoard::open(const std::string& directory,
                                                       Communicator& world,
                                                       std::int64_t patience_s) {
  std::shared_ptr<StatusBoard> board(new StatusBoard(directory, world.rank(), patience_s));
  std::error_code ignored;  // the file tells
  std::filesystem::create_directories(directory, ignored);
  const std::string own = file_of(directory, world.rank());
  std::filesystem::remove(own, ignored);  // of an earlier training
  board->own_ = map(own, true);
  const Status made = board->own_ == nullptr ? Status(cannot_write(own)) : Status();
  if (made.ok()) {
    board->own_->process = getpid();
    board->own_->thread = gettid();
    const std::string space = codec::process_space();
    std::copy_n(space.c_str(), std::min(space.size() + 1, sizeof board->own_->space),
                board->own_->space);
    board->tell_patiently("sets up");
  }
  OMNIBAL_RETURN_IF_ERROR(agree(made, world, "making status files"));
  for (int rank = 0; rank < world.size(); ++rank) {
    StatusRecord* seen = map(file_of(directory, rank), false);
    if (seen != nullptr && std::strcmp(seen->space, board->own_->space) != 0) {
      munmap(seen, sizeof(StatusRecord));  // of another host: nothing is known of its processes
      seen = nullptr;
    }
    board->seen_.push_back({.record = seen, .changed = Clock::now()});
  }
  return board;
}

StatusBoard::~StatusBoard() {
  if (own_ != nullptr) munmap(own_, sizeof(StatusRecord));
  for (const Seen& seen : seen_) {
    if (seen.record != nullptr) {
      munmap(const_cast<StatusRecord*>(seen.record), sizeof(StatusRecord));
    }
  }
}

void StatusBoard::write(std::string_view what, std::int64_t patience_s) {
  constexpr std::size_t kRoom = sizeof own_->text - 2;
  const auto written = fmt::format_to_n(own_->text, kRoom, "rank {}: {}", rank_, what);
  *written.out = '\n';
  *(written.out + 1) = '\0';
  own_->patience_s = patience_s;
  ++own_->heartbeat;
}

void StatusBoard::tell(std::string_view what) { write(what, patience_s_); }

void StatusBoard::tell_patiently(std::string_view what) {
  write(what, std::max(patience_s_, kLongPatience));
}

void StatusBoard::end_well() {
  write("has ended well", 0);
  std::error_code not_empty;  // others go on
  std::filesystem::remove(file_of(directory_, rank_), not_empty);
  std::filesystem::remove(directory_, not_empty);
}

Status StatusBoard::look_around() {
  ++own_->heartbeat;
  const auto now = Clock::now();
  if (now - looked_ < std::chrono::seconds(1)) return {};
  const Clock::time_point before = std::exchange(looked_, now);
  if (before != Clock::time_point() &&
      now - before > kAway) {  // stopped, or computing: what the others did meanwhile is not known
    for (Seen& seen : seen_) seen.changed = now;
    return {};
  }
  for (int rank = 0; rank < static_cast<int>(seen_.size()); ++rank) {
    if (rank == rank_) continue;
    OMNIBAL_RETURN_IF_ERROR(look_at(rank, seen_[static_cast<std::size_t>(rank)]));
  }
  return {};
}

Status StatusBoard::look_at(int rank, Seen& seen) {
  if (seen.record == nullptr || seen.record->patience_s == 0) return {};
  const std::string told = first_line(seen.record->text);
  if (kill(static_cast<pid_t>(seen.record->process), 0) != 0 && errno == ESRCH) {
    return Error(ErrorCode::kPeerFailed, fmt::format("rank {} has died; {}", rank, told));
  }
  const std::int64_t heartbeat = seen.record->heartbeat;
  const std::int64_t ticks = ticks_of(*seen.record);
  if (heartbeat != seen.heartbeat || ticks != seen.ticks) {
    seen.heartbeat = heartbeat;
    seen.ticks = ticks;
    seen.changed = looked_;
  }
  const auto silent = std::chrono::duration_cast<std::chrono::seconds>(looked_ - seen.changed);
  if (silent.count() < seen.record->patience_s) return {};
  return Error(ErrorCode::kWaitTooLong,
               fmt::format("rank {} is stuck: silent for {} s; {}", rank, silent.count(), told));
}

}  // namespace omnibal::runtime
