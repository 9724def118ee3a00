// SPDX-License-Identifier: Apache-2.0
#include "cli/mix_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "cli/text_table.h"

namespace omnibal::cli {
namespace {

using codec::Json;

constexpr std::size_t kMostRows = 20;

std::string share(const Json& share, const char* of) {
  return fmt::format("{:.1f} %", 100 * share[of].get<double>());
}

std::vector<std::string> row_of(const Json& source, const Json* of_steps) {
  const Json& placed = source["placed"]["share"];
  std::vector<std::string> row = {source["name"].get<std::string>(),
                                  fmt::format("{}", source["given"].get<std::int64_t>()),
                                  fmt::format("{}", source["left_out"].get<std::int64_t>()),
                                  fmt::format("{}", source["samples"].get<std::int64_t>()),
                                  fmt::format("{:.2f}", source["repeat"].get<double>()),
                                  share(placed, "samples"),
                                  share(placed, "tokens"),
                                  share(placed, "vision_units")};
  if (of_steps == nullptr) return row;
  const Json& spread = (*of_steps)["steps"]["samples"];
  row.push_back(fmt::format("+- {:.1f} %", 100 * spread["std"].get<double>()));
  return row;
}

/// Indices of the sources, those with the most placed tokens first.
std::vector<std::size_t> by_tokens(const Json& sources) {
  std::vector<std::size_t> order(sources.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t s) {
    return sources[s]["placed"]["tokens"].get<std::int64_t>();
  });
  return order;
}

std::string spread_text(const Json& mix) {
  const Json& steps = mix["steps"];
  if (steps["count"].get<std::int64_t>() == 0) return "";
  std::string text =
      fmt::format("spread of the sources from step to step: {:.2f} x that of packs dealt at random",
                  steps["samples"]["against_random"].get<double>());
  const Json& windows = mix["windows"];
  if (windows["count"].get<std::int64_t>() > 1) {
    text += fmt::format("; from window to window of {} steps: {:.2f} x",
                        windows["steps"].get<std::int64_t>(),
                        windows["samples"]["against_random"].get<double>());
  }
  return text + '\n';
}

}  // namespace

std::string mix_text(const Json& keys) {
  const Json& sources = keys["mix"]["sources"];
  const bool has_steps = keys.contains("steps");
  std::vector<std::vector<std::string>> rows = {
      {"source", "rows", "left out", "samples", "repeat", "of samples", "of tokens", "of units"}};
  if (has_steps) rows[0].emplace_back("of samples, a step");
  const std::vector<std::size_t> order = by_tokens(sources);
  for (std::size_t i = 0; i < std::min(order.size(), kMostRows); ++i) {
    const Json* of_steps = has_steps ? &keys["steps"]["source_mix"]["sources"][order[i]] : nullptr;
    rows.push_back(row_of(sources[order[i]], of_steps));
  }
  std::string text = text_table(rows);
  if (order.size() > kMostRows) text += fmt::format("... {} more\n", order.size() - kMostRows);
  return has_steps ? text + spread_text(keys["steps"]["source_mix"]) : text;
}

}  // namespace omnibal::cli
