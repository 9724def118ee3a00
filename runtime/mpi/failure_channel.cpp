// SPDX-License-Identifier: Apache-2.0
#include "mpi/failure_channel.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <variant>
#include <vector>

#include "omnibal/codec/error_json.h"

namespace omnibal::runtime {
namespace {

constexpr int kTag = 0;                     // of context 0, which no group has
constexpr std::size_t kLongestText = 3072;  // small enough to be sent eagerly
constexpr std::size_t kLongestPart = 700;
constexpr std::chrono::milliseconds kPatience{100};

void shorten(std::string& text) { text.resize(std::min(text.size(), kLongestPart)); }

void shorten(ErrorValue& value) {
  if (auto* text = std::get_if<std::string>(&value)) shorten(*text);
}

std::string to_message(Error error) {
  for (std::string* text : {&error.message, &error.where.file, &error.where.key, &error.hint}) {
    shorten(*text);
  }
  shorten(error.value);
  shorten(error.limit);
  return codec::error_json(error).dump(-1, ' ', true, codec::Json::error_handler_t::replace);
}

Error from_message(const std::string& text, int rank) {
  std::optional<Error> error = codec::error_of(codec::Json::parse(text, nullptr, false));
  if (!error) error = Error(ErrorCode::kPeerFailed, text);  // too long to come whole
  error->message = fmt::format("rank {}: {}", rank, error->message);
  return *error;
}

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
  return from_message(text_.substr(0, static_cast<std::size_t>(length)), status.MPI_SOURCE);
}

void FailureChannel::tell(const Error& error, int rank, int size) {
  const std::string text = to_message(error).substr(0, kLongestText);
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
