// SPDX-License-Identifier: Apache-2.0
#include "omnibal/pack/first_fit.h"

#include <algorithm>
#include <numeric>
#include <queue>
#include <set>
#include <utility>
#include <vector>

#include "pack/counted_packs.h"
#include "pack/sample_classes.h"

namespace omnibal::pack {
namespace {

/// Samples come in descending tokens. So a group whose packs once have room for the tokens of a
/// sample has room for those of all later ones, until it takes some: each row of groups holds these
/// in order of opening, and the others wait, the roomiest first.
class FirstFit {
 public:
  FirstFit(const SampleClasses& classes, const metrics::PackCaps& caps)
      : classes_(classes), caps_(caps) {
    constexpr std::int64_t kMostRows = 64;
    while ((caps.vision_units >> row_shift_) >= kMostRows) ++row_shift_;
    rows_.resize(static_cast<std::size_t>(caps.vision_units >> row_shift_) + 1);
  }

  void place(std::size_t c, std::int64_t count) {
    while (!waiting_.empty() && waiting_.top().first >= classes_.tokens[c]) {
      enter_row(waiting_.top().second);
      waiting_.pop();
    }
    while (count > 0) {
      std::uint32_t g = take_first(classes_.vision[c]);
      if (g == kNone) {
        opened_.push_back(num_opened_);
        g = static_cast<std::uint32_t>(packs_.open(caps_, classes_, c, count));
        num_opened_ += packs_.groups[g].count;
      }
      std::int64_t next_opened = opened_[g];
      const std::size_t next = packs_.groups.size();
      count -= packs_.fill(g, caps_, classes_, c, count);
      next_opened += packs_.groups[g].count;
      offer(g, classes_.tokens[c]);
      for (std::size_t added = next; added < packs_.groups.size(); ++added) {
        opened_.push_back(next_opened);
        next_opened += packs_.groups[added].count;
        offer(static_cast<std::uint32_t>(added), classes_.tokens[c]);
      }
    }
  }

  CountedPacks take() { return std::move(packs_); }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  using Opened = std::pair<std::int64_t, std::uint32_t>;  // number of its first pack, group

  std::int64_t vision_left(std::uint32_t g) const {
    return caps_.vision_units - packs_.groups[g].vision;
  }
  std::uint32_t tokens_left(std::uint32_t g) const {
    return static_cast<std::uint32_t>(caps_.tokens - packs_.groups[g].tokens);
  }

  void enter_row(std::uint32_t g) {
    rows_[static_cast<std::size_t>(vision_left(g) >> row_shift_)].insert({opened_[g], g});
  }

  void offer(std::uint32_t g, std::uint32_t tokens) {
    if (caps_.samples > 0 && packs_.groups[g].samples == caps_.samples) return;
    if (tokens_left(g) >= tokens) {
      enter_row(g);
    } else {
      waiting_.push({tokens_left(g), g});
    }
  }

  std::uint32_t take_first(std::uint32_t vision) {
    constexpr int kMostTries = 16;  // only the row that the sample is in may hold too narrow packs
    std::set<Opened>* row_of_first = nullptr;
    Opened first{num_opened_, kNone};
    for (std::size_t row = vision >> row_shift_; row < rows_.size(); ++row) {
      int tries = 0;
      for (auto it = rows_[row].begin(); it != rows_[row].end() && tries < kMostTries; ++it) {
        if (*it >= first) break;
        ++tries;
        if (vision_left(it->second) < vision) continue;
        first = *it;
        row_of_first = &rows_[row];
        break;
      }
    }
    if (row_of_first != nullptr) row_of_first->erase(first);
    return first.second;
  }

  const SampleClasses& classes_;
  metrics::PackCaps caps_;
  CountedPacks packs_;
  int row_shift_ = 0;
  std::int64_t num_opened_ = 0;
  std::vector<std::int64_t> opened_;    // by group: number of its first pack in order of opening
  std::vector<std::set<Opened>> rows_;  // by vision units left: groups with room for the tokens
  std::priority_queue<std::pair<std::uint32_t, std::uint32_t>> waiting_;  // tokens left, group
};

}  // namespace

Packs pack_first_fit(const metrics::SampleColumns& samples, std::span<const std::uint32_t> accepted,
                     const PackLimits& limits, std::uint64_t seed) {
  const SampleClasses classes = classify(samples, accepted, seed);
  std::vector<std::size_t> order(classes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&classes](std::size_t a, std::size_t b) {
    return classes.tokens[a] != classes.tokens[b] ? classes.tokens[a] > classes.tokens[b]
                                                  : classes.vision[a] > classes.vision[b];
  });
  FirstFit first_fit(classes, limits.caps());
  for (const std::size_t c : order) first_fit.place(c, classes.count(c));
  return expand(first_fit.take(), classes, seed);
}

}  // namespace omnibal::pack
