// SPDX-License-Identifier: Apache-2.0
#include "mpi/mpi_operation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace omnibal::runtime {
namespace {

/// MPI counts with int.
constexpr std::size_t kLargestPiece = std::size_t{1} << 30;

std::string mpi_text(int code) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  return {text.data(), static_cast<std::size_t>(length)};
}

Error mpi_error(int code, const std::string& what) {
  int kind = code;
  MPI_Error_class(code, &kind);
  if (kind == MPI_ERR_TRUNCATE) {
    return Error(ErrorCode::kPeerFailed, "a message is longer than its receiver expects: " + what);
  }
  return Error(ErrorCode::kInternal, fmt::format("{}: {}", what, mpi_text(code)));
}

}  // namespace

MpiOperation::MpiOperation(std::shared_ptr<RankState> rank, std::string text,
                           std::vector<Round> rounds, const std::vector<int>& members, int tag)
    : Operation(std::move(rank), std::move(text)), rounds_(std::move(rounds)), tag_(tag) {
  for (Round& round : rounds_) {
    for (Transfer& transfer : round.transfers) {
      transfer.peer = members[static_cast<std::size_t>(transfer.peer)];
    }
  }
}

Result<MpiOperation::Step> MpiOperation::advance() {
  Step step = Step::kNone;
  while (true) {
    OMNIBAL_ASSIGN(const std::size_t num_completed, drop_completed());
    if (num_completed > 0) step = Step::kSome;
    if (!pieces_.empty()) return step;
    if (num_started_ > 0 && rounds_[num_started_ - 1].then) {
      rounds_[num_started_ - 1].then();
    }
    if (num_started_ == rounds_.size()) return Step::kLast;
    OMNIBAL_RETURN_IF_ERROR(start_round());
    step = Step::kSome;
  }
}

Status MpiOperation::start_round() {
  for (const Transfer& transfer : rounds_[num_started_++].transfers) {
    OMNIBAL_RETURN_IF_ERROR(start_transfer(transfer));
  }
  return {};
}

Status MpiOperation::start_transfer(const Transfer& whole) {
  std::size_t offset = 0;
  do {
    Transfer part = whole;
    part.data = whole.data + offset;
    part.bytes = std::min(kLargestPiece, whole.bytes - offset);
    const int count = static_cast<int>(part.bytes);
    MPI_Request request = MPI_REQUEST_NULL;
    const int code =
        whole.direction == Transfer::Direction::kSend
            ? MPI_Isend(part.data, count, MPI_BYTE, part.peer, tag_, MPI_COMM_WORLD, &request)
            : MPI_Irecv(part.data, count, MPI_BYTE, part.peer, tag_, MPI_COMM_WORLD, &request);
    if (code != MPI_SUCCESS) return mpi_error(code, text());
    const std::lock_guard lock(mutex_);
    pieces_.push_back({request, part});
    offset += part.bytes;
  } while (offset < whole.bytes);
  return {};
}

Result<bool> MpiOperation::test(Piece& piece) {
  int complete = 0;
  MPI_Status status;
  const int code = MPI_Test(&piece.request, &complete, &status);
  if (code != MPI_SUCCESS) return mpi_error(code, text());
  if (complete == 0 || piece.transfer.direction == Transfer::Direction::kSend) return complete != 0;
  int received = 0;
  MPI_Get_count(&status, MPI_BYTE, &received);
  if (static_cast<std::size_t>(received) == piece.transfer.bytes) return true;
  return Error(ErrorCode::kPeerFailed,
               fmt::format("a message of {} bytes is received as one of {}: {}", received,
                           piece.transfer.bytes, text()));
}

Result<std::size_t> MpiOperation::drop_completed() {
  std::vector<Piece> left;
  for (Piece& piece : pieces_) {
    OMNIBAL_ASSIGN(const bool complete, test(piece));
    if (!complete) left.push_back(piece);
  }
  const std::size_t num_completed = pieces_.size() - left.size();
  if (num_completed > 0) {
    const std::lock_guard lock(mutex_);
    pieces_ = std::move(left);
  }
  return num_completed;
}

std::vector<int> MpiOperation::missing() const {
  const std::lock_guard lock(mutex_);
  std::vector<int> ranks;
  for (const Piece& piece : pieces_) ranks.push_back(piece.transfer.peer);
  std::ranges::sort(ranks);
  const auto repeated = std::ranges::unique(ranks);
  ranks.erase(repeated.begin(), repeated.end());
  return ranks;
}

}  // namespace omnibal::runtime
