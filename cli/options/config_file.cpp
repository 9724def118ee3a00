// SPDX-License-Identifier: Apache-2.0
#include "cli/options/config_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/options/flag_value.h"
#include "omnibal/base/nearest_name.h"
#include "omnibal/codec/toml.h"

namespace omnibal::cli {
namespace {

using codec::Json;

Error config_error(const std::string& path, const std::string& key, const std::string& what) {
  return Error(ErrorCode::kInvalidArgument, what).in_file(path).at_key(key);
}

std::vector<std::string> keys_of(const std::vector<Flag>& flags) {
  std::vector<std::string> keys;
  for (const Flag& flag : flags) {
    if (is_positional(flag)) continue;
    keys.push_back(flag.name.substr(2));
  }
  return keys;
}

/// A value as a user would type it behind the flag.
Result<std::string> word_of(const Json& value, const std::string& path, const std::string& key) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_primitive() && !value.is_null()) return value.dump();
  return config_error(path, key, "a flag takes a text, a number, true, false or a list of these");
}

Result<std::vector<std::string>> words_of(const Json& value, const std::string& path,
                                          const std::string& key) {
  std::vector<std::string> words;
  for (const Json& item : value.is_array() ? value : Json::array({value})) {
    OMNIBAL_ASSIGN(std::string word, word_of(item, path, key));
    words.push_back(std::move(word));
  }
  return words;
}

/// Entries of one table, each key one of `keys`.
Result<std::vector<ConfigEntry>> entries_of(const Json& table, const std::string& name,
                                            const std::vector<std::string>& keys,
                                            const std::string& path) {
  std::vector<ConfigEntry> entries;
  for (const auto& [key, value] : table.items()) {
    const std::string place = name.empty() ? key : fmt::format("{}.{}", name, key);
    if (std::ranges::find(keys, key) == keys.end()) {
      return config_error(path, place, "there is no such flag")
          .with_hint(fmt::format("did you mean \"{}\"?", nearest_name(key, keys)));
    }
    OMNIBAL_ASSIGN(std::vector<std::string> words, words_of(value, path, place));
    entries.push_back({"--" + key, std::move(words)});
  }
  return entries;
}

}  // namespace

Result<std::vector<ConfigEntry>> read_config(const std::string& path, const Command& command,
                                             const std::vector<Command>& commands,
                                             const std::vector<Flag>& common) {
  OMNIBAL_ASSIGN(const Json root, codec::read_toml(path));
  const std::vector<std::string> common_keys = keys_of(common);
  Json top = Json::object();
  std::vector<ConfigEntry> of_table;
  for (const auto& [name, value] : root.items()) {
    if (!value.is_object()) {
      top[name] = value;
      continue;
    }
    const auto found = std::ranges::find(commands, name, &Command::name);
    if (found == commands.end()) return config_error(path, name, "there is no such command");
    std::vector<std::string> keys = keys_of(found->flags);
    keys.insert(keys.end(), common_keys.begin(), common_keys.end());
    OMNIBAL_ASSIGN(std::vector<ConfigEntry> entries, entries_of(value, name, keys, path));
    if (name == command.name) of_table = std::move(entries);
  }
  OMNIBAL_ASSIGN(std::vector<ConfigEntry> entries, entries_of(top, "", common_keys, path));
  entries.insert(entries.end(), of_table.begin(), of_table.end());
  return entries;
}

}  // namespace omnibal::cli
