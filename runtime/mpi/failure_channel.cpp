// SPDX-License-Identifier: Apache-2.0
#include "mpi/failure_channel.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <variant>
#include <vector>

#include "omnibal/codec/json.h"

namespace omnibal::runtime {
namespace {

constexpr int kTag = 0;                     // of context 0, which no group has
constexpr std::size_t kLongestText = 3072;  // small enough to be sent eagerly
constexpr std::size_t kLongestPart = 700;
constexpr std::chrono::milliseconds kPatience{100};

std::string shortened(const std::string& text) { return text.substr(0, kLongestPart); }

codec::Json value_json(const ErrorValue& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return *whole;
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* text = std::get_if<std::string>(&value)) return shortened(*text);
  return nullptr;
}

ErrorValue value_of(const codec::Json& json) {
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  return {};
}

/// [code, message, file, row, key, value, limit, hint], of the same program on both sides.
std::string to_message(const Error& error) {
  codec::Json row = error.where.row ? codec::Json(*error.where.row) : codec::Json();
  const codec::Json parts = {static_cast<int>(error.code), shortened(error.message),
                             shortened(error.where.file),  row,
                             shortened(error.where.key),   value_json(error.value),
                             value_json(error.limit),      shortened(error.hint)};
  return parts.dump(-1, ' ', true, codec::Json::error_handler_t::replace);
}

Error from_message(const std::string& text, int rank) {
  const codec::Json parts = codec::Json::parse(text, nullptr, false);
  if (!parts.is_array() || parts.size() != 8) {  // too long to come whole
    return Error(ErrorCode::kPeerFailed, fmt::format("rank {}: {}", rank, text));
  }
  Error error(static_cast<ErrorCode>(parts[0].get<int>()),
              fmt::format("rank {}: {}", rank, parts[1].get<std::string>()));
  error.where = {parts[2], std::nullopt, parts[4]};
  if (!parts[3].is_null()) error.where.row = parts[3].get<std::int64_t>();
  error.value = value_of(parts[5]);
  error.limit = value_of(parts[6]);
  error.hint = parts[7];
  return error;
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
