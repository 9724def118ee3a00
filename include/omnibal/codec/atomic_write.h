// SPDX-License-Identifier: Apache-2.0
//
// Files and directories that appear whole or not at all: written under a temporary name beside
// the target, synced, renamed. A killed process leaves the old one or none; what it had written is
// removed by the next writer of the same target on the same host, never by another host's.
//
//   OMNIBAL_ASSIGN(StagedDirectory staged, StagedDirectory::create("plan", kind));
//   ... write files into staged.path() ...
//   OMNIBAL_RETURN_IF_ERROR(staged.commit());
//
// Not for appending to a log, and not a lock: of two writers of one target the last one wins.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "omnibal/base/result.h"

namespace omnibal::codec {

/// Replaces a regular file (behind a symbolic link too) or creates it. Errors: kWriteFailed;
/// kWouldOverwrite where a directory or device has the name.
Status write_file_atomically(const std::string& path, std::string_view content);

/// The same of pieces that follow each other in the file and need not be copied together.
Status write_file_atomically(const std::string& path,
                             std::span<const std::span<const std::byte>> pieces);

/// What makes a directory one of ours, so that a newer one may replace it.
struct DirectoryKind {
  std::string marker;              // a JSON file in it: "plan.json"
  std::string format;              // what its key `format` says: "omnibal.plan"
  std::vector<std::string> files;  // all names that may stand in it
};

class StagedDirectory {
 public:
  /// Prepares to replace `target`; missing parent directories are created. An existing `target` is
  /// replaced only if it is empty or of `kind` and holds nothing else: otherwise kWouldOverwrite.
  /// Temporary directories that killed processes left beside `target` are removed.
  static Result<StagedDirectory> create(const std::string& target, const DirectoryKind& kind);
  StagedDirectory(StagedDirectory&& other) noexcept;
  StagedDirectory& operator=(StagedDirectory&& other) noexcept;
  /// Removes the temporary directory unless it was committed.
  ~StagedDirectory();

  /// Where to write; on the same file system as the target.
  const std::string& path() const { return staged_; }
  /// Syncs every file and puts the directory in place of the target in one exchange. Errors:
  /// kWriteFailed, kWouldOverwrite; the target is then what it was. On a file system that cannot
  /// exchange two names (some network ones), two renames follow each other: a process killed
  /// between them leaves old and new under temporary names, and the next writer removes both.
  Status commit();

 private:
  StagedDirectory(std::string target, DirectoryKind kind, std::string staged);
  std::string target_;
  DirectoryKind kind_;
  std::string staged_;  // empty once committed
};

}  // namespace omnibal::codec
