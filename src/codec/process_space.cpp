// SPDX-License-Identifier: Apache-2.0
#include "omnibal/codec/process_space.h"

#include <limits.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "omnibal/codec/hash.h"

namespace omnibal::codec {

std::string process_space() {
  constexpr std::size_t kDigits = 12;
  std::array<char, HOST_NAME_MAX + 1> host{};
  ::gethostname(host.data(), host.size() - 1);
  std::error_code ignored;
  Hasher hasher;  // host names are anything
  hasher.add(std::string_view(host.data()));
  hasher.add(std::filesystem::read_symlink("/proc/self/ns/pid", ignored).string());
  return hasher.hex().substr(0, kDigits);
}

}  // namespace omnibal::codec
