// SPDX-License-Identifier: Apache-2.0
#include "omnibal/codec/atomic_write.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <utility>
#include <vector>

#include "codec/file_descriptor.h"
#include "omnibal/codec/json.h"
#include "omnibal/codec/process_space.h"

namespace omnibal::codec {
namespace {

namespace fs = std::filesystem;

/// ".plan.omnibal-0123456789ab-": what the temporary names beside "plan" begin with that processes
/// of this host make; process id and a number follow.
std::string temporary_prefix(const fs::path& target) {
  return fmt::format(".{}.omnibal-{}-", target.filename().string(), process_space());
}

/// The target itself, behind symbolic links, without a trailing slash: what a rename must replace.
fs::path resolve(const std::string& target) {
  std::error_code problem;
  fs::path path = fs::weakly_canonical(fs::absolute(target, problem), problem);
  if (problem) path = target;
  return path.has_filename() ? path : path.parent_path();
}

/// Process id in "<prefix><pid>-<number>"; 0 if `name` is nothing of the kind.
pid_t owner_of(const std::string& name, const std::string& prefix) {
  if (!name.starts_with(prefix)) return 0;
  const char* const end = name.data() + name.size();
  pid_t pid = 0;
  const auto [rest, problem] = std::from_chars(name.data() + prefix.size(), end, pid);
  return problem == std::errc() && rest != end && *rest == '-' && pid > 0 ? pid : 0;
}

void remove_leftovers_of_dead_processes(const fs::path& target) {
  const std::string prefix = temporary_prefix(target);
  std::vector<fs::path> leftovers;
  std::error_code problem;
  for (fs::directory_iterator entry(target.parent_path(), problem), end; !problem && entry != end;
       entry.increment(problem)) {
    const pid_t owner = owner_of(entry->path().filename().string(), prefix);
    if (owner > 0 && ::kill(owner, 0) != 0 && errno == ESRCH) leftovers.push_back(entry->path());
  }
  for (const fs::path& leftover : leftovers) fs::remove_all(leftover, problem);
}

/// Calls `create(name)` with free temporary names beside `target` until it does not fail with
/// EEXIST; the name, or empty with errno set.
template <class Create>
std::string create_temporary(const fs::path& target, const Create& create) {
  const std::string prefix = temporary_prefix(target);
  for (int number = 0;; ++number) {
    const std::string name = fmt::format("{}{}-{}", prefix, ::getpid(), number);
    const std::string path = (target.parent_path() / name).string();
    if (create(path)) return path;
    if (errno != EEXIST) return "";
  }
}

Error would_overwrite(const std::string& target, std::string why) {
  return Error(ErrorCode::kWouldOverwrite, std::move(why))
      .in_file(target)
      .with_hint("choose another name, or remove it yourself");
}

/// The first name in `directory` that `kind` does not write; empty if there is none.
std::string foreign_name(const fs::path& directory, const DirectoryKind& kind) {
  std::error_code problem;
  for (fs::directory_iterator entry(directory, problem), end; !problem && entry != end;
       entry.increment(problem)) {
    const std::string name = entry->path().filename().string();
    const bool known = std::ranges::find(kind.files, name) != kind.files.end();
    if (!known || !entry->is_regular_file(problem)) return name;
  }
  return problem ? "unreadable names" : "";
}

bool has_marker(const fs::path& directory, const DirectoryKind& kind) {
  const Result<Json> document = read_json((directory / kind.marker).string());
  return document && document->is_object() && document->value("format", Json()) == kind.format;
}

/// Whether a directory may be put at `target`: nothing there, an empty directory, or one of ours.
Status check_replaceable(const std::string& target, const DirectoryKind& kind) {
  std::error_code problem;
  const fs::file_status status = fs::status(target, problem);
  if (status.type() == fs::file_type::not_found) {
    if (!fs::is_symlink(fs::symlink_status(target, problem))) return {};
    return would_overwrite(target, "there is a link of this name that leads nowhere");
  }
  if (!fs::is_directory(status))
    return would_overwrite(target, "there is no directory of this name but a file");
  const bool empty = fs::is_empty(target, problem);
  if (problem) return Error(ErrorCode::kWriteFailed, problem.message()).in_file(target);
  if (empty) return {};
  if (const std::string name = foreign_name(target, kind); !name.empty()) {
    return would_overwrite(
        target, fmt::format("the directory holds \"{}\", which is not ours: not replaced", name));
  }
  if (has_marker(target, kind)) return {};
  return would_overwrite(target, fmt::format("the directory has no {} of format {}: not replaced",
                                             kind.marker, kind.format));
}

Status sync_tree(const std::string& root) {
  std::error_code problem;
  for (fs::recursive_directory_iterator entry(root, problem), end; !problem && entry != end;
       entry.increment(problem)) {
    OMNIBAL_RETURN_IF_ERROR(sync_path(entry->path().string()));
  }
  if (problem) return Error(ErrorCode::kWriteFailed, problem.message()).in_file(root);
  return sync_path(root);
}

bool rename_with(const std::string& from, const std::string& to, unsigned flags) {
  return ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), flags) == 0;
}

/// Where the file system cannot exchange two names: the old directory steps aside first.
bool replace_in_two_renames(const std::string& staged, const std::string& target) {
  const std::string aside = staged + "-old";
  if (::rename(target.c_str(), aside.c_str()) != 0) return false;
  if (::rename(staged.c_str(), target.c_str()) == 0) {
    return ::rename(aside.c_str(), staged.c_str()) == 0;
  }
  const int reason = errno;
  if (::rename(aside.c_str(), target.c_str()) != 0) return false;
  errno = reason;
  return false;
}

/// Puts `staged` at `target`. What was there has then the name `staged`.
bool put_in_place(const std::string& staged, const std::string& target) {
  if (rename_with(staged, target, RENAME_NOREPLACE)) return true;
  if (errno == EEXIST) {
    if (rename_with(staged, target, RENAME_EXCHANGE)) return true;
    return (errno == EINVAL || errno == ENOSYS) && replace_in_two_renames(staged, target);
  }
  if (errno != EINVAL && errno != ENOSYS) return false;
  // No flags at all on this file system. Onto nothing or an empty directory one rename will do.
  if (::rename(staged.c_str(), target.c_str()) == 0) return true;
  return (errno == EEXIST || errno == ENOTEMPTY) && replace_in_two_renames(staged, target);
}

}  // namespace

Status write_file_atomically(const std::string& path, std::string_view content) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(content));
  return write_file_atomically(path, {&bytes, 1});
}

Status write_file_atomically(const std::string& path,
                             std::span<const std::span<const std::byte>> pieces) {
  const fs::path target = resolve(path);
  std::error_code problem;
  const fs::file_status status = fs::status(target, problem);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    return would_overwrite(path, "there is no file of this name but a directory or device");
  }
  remove_leftovers_of_dead_processes(target);
  const std::string temporary = create_temporary(target, [](const std::string& name) {
    return FileDescriptor(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666))
               .get() >= 0;
  });
  if (temporary.empty()) {
    return system_error(ErrorCode::kWriteFailed, "cannot create a file in this directory", path);
  }
  Status written = write_synced(temporary, pieces, false);
  if (written.ok() && ::rename(temporary.c_str(), target.c_str()) != 0) {
    written = system_error(ErrorCode::kWriteFailed, "cannot put the file in place", path);
  }
  if (!written.ok()) {
    ::unlink(temporary.c_str());
    return written;
  }
  return sync_path(target.parent_path().string());
}

StagedDirectory::StagedDirectory(std::string target, DirectoryKind kind, std::string staged)
    : target_(std::move(target)), kind_(std::move(kind)), staged_(std::move(staged)) {}

Result<StagedDirectory> StagedDirectory::create(const std::string& target,
                                                const DirectoryKind& kind) {
  const fs::path resolved = resolve(target);
  OMNIBAL_RETURN_IF_ERROR(check_replaceable(resolved.string(), kind));
  std::error_code problem;
  fs::create_directories(resolved.parent_path(), problem);
  if (problem) {
    return Error(ErrorCode::kWriteFailed, "cannot create the directory: " + problem.message())
        .in_file(resolved.parent_path().string());
  }
  remove_leftovers_of_dead_processes(resolved);
  std::string staged = create_temporary(
      resolved, [](const std::string& name) { return ::mkdir(name.c_str(), 0777) == 0; });
  if (staged.empty()) {
    return system_error(ErrorCode::kWriteFailed, "cannot create a directory here",
                        resolved.parent_path().string());
  }
  return StagedDirectory(resolved.string(), kind, std::move(staged));
}

StagedDirectory::StagedDirectory(StagedDirectory&& other) noexcept
    : target_(std::move(other.target_)),
      kind_(std::move(other.kind_)),
      staged_(std::exchange(other.staged_, "")) {}

StagedDirectory& StagedDirectory::operator=(StagedDirectory&& other) noexcept {
  std::swap(target_, other.target_);
  std::swap(kind_, other.kind_);
  std::swap(staged_, other.staged_);
  return *this;
}

StagedDirectory::~StagedDirectory() {
  std::error_code ignored;
  if (!staged_.empty()) fs::remove_all(staged_, ignored);
}

Status StagedDirectory::commit() {
  OMNIBAL_RETURN_IF_ERROR(sync_tree(staged_));
  OMNIBAL_RETURN_IF_ERROR(check_replaceable(target_, kind_));
  if (!put_in_place(staged_, target_)) {
    return system_error(ErrorCode::kWriteFailed, "cannot put the directory in place", target_);
  }
  std::error_code ignored;
  fs::remove_all(staged_, ignored);  // what stood at the target before, if anything
  staged_.clear();
  return sync_path(fs::path(target_).parent_path().string());
}

}  // namespace omnibal::codec
