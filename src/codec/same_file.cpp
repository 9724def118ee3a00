// SPDX-License-Identifier: Apache-2.0
#include "omnibal/codec/same_file.h"

#include <sys/stat.h>

#include <filesystem>
#include <optional>

namespace omnibal::codec {
namespace {

namespace fs = std::filesystem;

std::optional<struct stat> status_of(const fs::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return status;
}

/// The name behind symbolic links, also where the last leads to nothing.
fs::path where_it_leads(const std::string& path) {
  constexpr int kMostLinks = 40;  // as many as Linux follows
  std::error_code problem;
  fs::path name = fs::absolute(path, problem);
  for (int i = 0; i < kMostLinks && fs::is_symlink(fs::symlink_status(name, problem)); ++i) {
    const fs::path target = fs::read_symlink(name, problem);
    if (problem) break;
    name = name.parent_path() / target;
  }
  const fs::path resolved = fs::weakly_canonical(name, problem);
  return problem ? name.lexically_normal() : resolved;
}

bool is_same(const fs::path& a, const fs::path& b) {
  const std::optional<struct stat> first = status_of(a);
  const std::optional<struct stat> second = status_of(b);
  if (!first || !second) return !first && !second && a == b;
  return !S_ISCHR(first->st_mode) && first->st_dev == second->st_dev &&
         first->st_ino == second->st_ino;
}

}  // namespace

bool is_same_file(const std::string& a, const std::string& b) {
  // Not where_it_leads() of what exists: an open pipe has no name of its own.
  if (status_of(a) && status_of(b)) return is_same(a, b);
  return is_same(where_it_leads(a), where_it_leads(b));
}

bool lies_in(const std::string& path, const std::string& directory) {
  if (is_same_file(path, directory)) return true;
  const fs::path root = where_it_leads(directory);
  for (fs::path name = where_it_leads(path); name.has_relative_path(); name = name.parent_path()) {
    if (is_same(name.parent_path(), root)) return true;
  }
  return false;
}

}  // namespace omnibal::codec
