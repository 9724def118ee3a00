// SPDX-License-Identifier: Apache-2.0
#include "mpi/failure_channel.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

namespace omnibal::runtime {
namespace {

constexpr int kTag = 0;                     // of context 0, which no group has
constexpr std::size_t kLongestText = 1024;  // small enough to be sent eagerly
constexpr std::chrono::milliseconds kPatience{100};

}  // namespace

void FailureChannel::listen() {
  text_.assign(kLongestText, '\0');
  MPI_Irecv(text_.data(), static_cast<int>(kLongestText), MPI_BYTE, MPI_ANY_SOURCE, kTag,
            MPI_COMM_WORLD, &request_);
}

std::optional<Error> FailureChannel::heard() {
  int complete = 0;
  MPI_Status status;
  MPI_Test(&request_, &complete, &status);
  if (complete == 0) return std::nullopt;
  int length = 0;
  MPI_Get_count(&status, MPI_BYTE, &length);
  return Error(ErrorCode::kPeerFailed,
               fmt::format("rank {}: {}", status.MPI_SOURCE,
                           text_.substr(0, static_cast<std::size_t>(length))));
}

void FailureChannel::tell(const Error& error, int rank, int size) {
  const std::string text = error.message.substr(0, kLongestText);
  std::vector<MPI_Request> requests;
  for (int peer = 0; peer < size; ++peer) {
    if (peer == rank) continue;
    MPI_Isend(text.data(), static_cast<int>(text.size()), MPI_BYTE, peer, kTag, MPI_COMM_WORLD,
              &requests.emplace_back());
  }
  const auto until = std::chrono::steady_clock::now() + kPatience;
  int complete = 0;
  while (complete == 0 && std::chrono::steady_clock::now() < until) {
    MPI_Testall(static_cast<int>(requests.size()), requests.data(), &complete, MPI_STATUSES_IGNORE);
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

void FailureChannel::close() {
  MPI_Cancel(&request_);
  MPI_Wait(&request_, MPI_STATUS_IGNORE);
}

}  // namespace omnibal::runtime
