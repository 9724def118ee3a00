// SPDX-License-Identifier: Apache-2.0
#include "omnibal/base/nearest_name.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "omnibal/base/ascii.h"

namespace omnibal {
namespace {

/// Levenshtein distance, one row of the table at a time.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string nearest_name(std::string_view typed, std::span<const std::string> names) {
  const std::string wanted = lower_ascii(typed);
  std::string nearest;
  std::pair least(true, std::numeric_limits<std::size_t>::max());  // starts otherwise, distance
  for (const std::string& name : names) {
    const std::string candidate = lower_ascii(name);
    const std::pair rank(!candidate.starts_with(wanted), edit_distance(wanted, candidate));
    if (rank < least) {
      least = rank;
      nearest = name;
    }
  }
  return nearest;
}

}  // namespace omnibal
