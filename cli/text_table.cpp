// SPDX-License-Identifier: Apache-2.0
#include "cli/text_table.h"

#include <algorithm>
#include <sstream>

namespace omnibal::cli {
namespace {

std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace

std::string text_table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - width_of(row[i]), ' ');
      line += i == 0 ? row[i] + padding : "  " + padding + row[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string text_table(const std::vector<std::vector<std::string>>& rows,
                       const std::vector<std::string>& notes) {
  std::istringstream lines(text_table(rows));
  std::string text;
  std::string line;
  std::getline(lines, line);
  text += line + '\n';
  for (const std::string& note : notes) {
    std::getline(lines, line);
    text += line + "  " + note + '\n';
  }
  return text;
}

}  // namespace omnibal::cli
