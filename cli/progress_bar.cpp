// SPDX-License-Identifier: Apache-2.0
#include "cli/progress_bar.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "omnibal/base/quantity.h"

namespace omnibal::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct Bar {
  Clock::time_point work_began = Clock::now();
  Clock::time_point phase_began = Clock::now();
  Clock::time_point last_drawn = Clock::now();
  std::string phase;
};

double seconds_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

std::string bar_line(const Bar& bar, double done, double total, double elapsed) {
  if (total <= 0) return fmt::format("{}  {:.0f}", bar.phase, done);
  const double fraction = std::clamp(done / total, 0.0, 1.0);
  const auto filled = static_cast<std::size_t>(fraction * 30);
  std::string line = fmt::format("{}  [{}{}] {:3.0f} %", bar.phase, std::string(filled, '#'),
                                 std::string(30 - filled, ' '), 100 * fraction);
  if (fraction > 0.01) line += "  " + format_seconds(elapsed / fraction - elapsed) + " left";
  return line;
}

}  // namespace

Progress make_progress_bar(bool quiet, bool verbose) {
  const bool draws = isatty(STDERR_FILENO) != 0;
  if (quiet || (!draws && !verbose)) return {};
  return [draws, verbose, bar = std::make_shared<Bar>()](std::string_view what, std::int64_t done,
                                                         std::int64_t total) {
    const Clock::time_point now = Clock::now();
    if (bar->phase != what) {
      if (verbose) {
        fmt::print(stderr, "{}{} after {}\n", draws ? "\r\033[K" : "", what,
                   format_seconds(seconds_between(bar->work_began, now)));
      }
      bar->phase = std::string(what);
      bar->phase_began = now;
    }
    if (!draws || seconds_between(bar->work_began, now) < 1) return;
    if (seconds_between(bar->last_drawn, now) < 0.1) return;
    bar->last_drawn = now;
    fmt::print(stderr, "\r\033[K{}",
               bar_line(*bar, static_cast<double>(done), static_cast<double>(total),
                        seconds_between(bar->phase_began, now)));
    std::fflush(stderr);
  };
}

void clear_progress_bar() {
  if (isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\r\033[K");
}

}  // namespace omnibal::cli
