// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <iterator>

#include "omnibal/plan/stream_session.h"

namespace omnibal::plan {
namespace {

/// "[[a,b],[c,d]]": the step's packs in rows of dp, each as `write` writes it.
template <class Write>
void add_grid(std::string& line, const StreamStep& step, std::int64_t dp, const Write& write) {
  line += '[';
  for (std::size_t i = 0; i < step.packs.size(); ++i) {
    const bool begins_row = i % static_cast<std::size_t>(dp) == 0;
    line += begins_row ? (i == 0 ? "[" : "],[") : ",";
    write(step.packs[i]);
  }
  line += "]]";
}

}  // namespace

std::string to_line(const StreamStep& step, std::int64_t dp) {
  std::string line = fmt::format("{{\"step\":{},\"packs\":", step.step);
  add_grid(line, step, dp, [&line](const pack::StreamedPack& pack) {
    line += '[';
    for (std::size_t i = 0; i < pack.samples.size(); ++i) {
      if (i > 0) line += ',';
      const fmt::format_int text(pack.samples[i]);
      line.append(text.data(), text.size());
    }
    line += ']';
  });
  line += ",\"loads\":";
  add_grid(line, step, dp, [&line](const pack::StreamedPack& pack) {
    fmt::format_to(std::back_inserter(line), "[{},{},{}]", pack.load.vision_units, pack.load.tokens,
                   pack.load.token_pairs);
  });
  line += "}\n";
  return line;
}

}  // namespace omnibal::plan
