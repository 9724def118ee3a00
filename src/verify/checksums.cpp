// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <set>
#include <sstream>

#include "checks.h"
#include "omnibal/codec/files.h"
#include "omnibal/codec/hash.h"

namespace omnibal::verify {
namespace {

constexpr std::size_t kHashDigits = 32;

/// "HASH  NAME": the names, after comparing each file with its hash.
Result<std::set<std::string>> compare_listed(const std::string& directory,
                                             const std::string& listing) {
  std::set<std::string> names;
  std::istringstream lines(listing);
  for (std::string line; std::getline(lines, line);) {
    const bool well_formed = line.size() > kHashDigits + 2 && line.substr(kHashDigits, 2) == "  ";
    if (!well_formed) return violation("{} has a malformed line: {}", plan::kChecksums, line);
    const std::string name = line.substr(kHashDigits + 2);
    if (name.find('/') != std::string::npos) {
      return violation("{} names a file outside the plan: {}", plan::kChecksums, name);
    }
    const Result<std::string> hash = codec::hash_file(directory + "/" + name);
    if (!hash) return violation("{} is missing or unreadable", name);
    if (*hash != line.substr(0, kHashDigits)) return violation("{} differs from its hash", name);
    names.insert(name);
  }
  return names;
}

}  // namespace

Finding check_checksums(const std::string& directory) {
  const Result<std::string> listing =
      codec::read_file(fmt::format("{}/{}", directory, plan::kChecksums));
  if (!listing) return violation("{} is missing or unreadable", plan::kChecksums);
  OMNIBAL_ASSIGN(const std::set<std::string> names, compare_listed(directory, *listing));
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const std::string name = entry.path().filename();
    if (name != plan::kChecksums && !names.contains(name)) {
      return violation("{} is not listed in {}", name, plan::kChecksums);
    }
  }
  return fmt::format("{} files match their XXH128", names.size());
}

}  // namespace omnibal::verify
