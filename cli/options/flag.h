// SPDX-License-Identifier: Apache-2.0
//
// Flag: one declaration from which parsing, --help, the TOML table, shell completion and
// docs/commands.md are made. A command lists its flags in one table.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace omnibal::cli {

/// A number of bytes, written "70GB" or "80GiB".
struct ByteSize {
  std::int64_t bytes = 0;
};

/// Where the value goes; the type decides what is accepted. The value found there when the command
/// is made is the default that help shows. A vector takes comma-separated values or, as the
/// positional argument, several words.
using FlagTarget =
    std::variant<bool*, std::int64_t*, double*, std::string*, std::vector<std::string>*,
                 std::vector<std::int64_t>*, std::optional<std::int64_t>*, std::optional<double>*,
                 std::optional<std::string>*, std::optional<ByteSize>*>;

struct Flag {
  std::string name;  // "--vision-cap"; without dashes and in capitals: positional ("INPUT")
  FlagTarget target;
  std::string help;             // one sentence without full stop; units named
  std::string value_name = "";  // "N", "FILE", "NAME": what stands behind the flag in help
  std::vector<std::string> choices = {};           // the only accepted words
  std::optional<std::int64_t> min = std::nullopt;  // of whole numbers
  std::optional<std::int64_t> max = std::nullopt;
  bool required = false;
  std::optional<std::int64_t> above = std::nullopt;  // of fractions
};

/// A command's table from those that several commands share and its own.
inline std::vector<Flag> joined(std::initializer_list<std::vector<Flag>> tables) {
  std::vector<Flag> flags;
  for (const std::vector<Flag>& table : tables) {
    flags.insert(flags.end(), table.begin(), table.end());
  }
  return flags;
}

}  // namespace omnibal::cli
