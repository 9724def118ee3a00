// SPDX-License-Identifier: Apache-2.0
#include "train/agreement.h"

#include <fmt/format.h>

#include <array>
#include <cstring>

namespace omnibal::runtime {

Status agree(const Status& own, Communicator& world, std::string_view what) {
  std::int64_t num_failed = own.ok() ? 0 : 1;
  OMNIBAL_RETURN_IF_ERROR(world.all_reduce(&num_failed, 1, Element::kI64, Reduction::kSum).wait());
  if (!own.ok() || num_failed == 0) return own;
  return Error(ErrorCode::kPeerFailed, fmt::format("{} failed on another rank", what));
}

Result<std::string> share_path(const std::string& path, Communicator& world) {
  std::array<char, 4096> text = {};
  if (path.size() >= text.size()) return Error(ErrorCode::kOutOfRange, "the path is too long");
  std::memcpy(text.data(), path.data(), path.size());
  OMNIBAL_RETURN_IF_ERROR(world.broadcast(text.data(), text.size(), 0).wait());
  return std::string(text.data());
}

}  // namespace omnibal::runtime
