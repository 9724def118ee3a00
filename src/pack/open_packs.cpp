// SPDX-License-Identifier: Apache-2.0
#include "pack/open_packs.h"

#include <algorithm>
#include <bit>

namespace omnibal::pack {
namespace {

constexpr std::size_t kWord = 64;
constexpr std::uint64_t kMostRows = 64;

/// How far numbers up to `cap` are shifted to be below `range`.
int shift_below(std::int64_t cap, std::uint64_t range) {
  int shift = 0;
  while ((static_cast<std::uint64_t>(cap) >> shift) >= range) ++shift;
  return shift;
}

}  // namespace

void SuccessorSet::insert(std::size_t x) {
  low_[x / kWord] |= std::uint64_t{1} << (x % kWord);
  mid_[x / kWord / kWord] |= std::uint64_t{1} << (x / kWord % kWord);
}

void SuccessorSet::erase(std::size_t x) {
  low_[x / kWord] &= ~(std::uint64_t{1} << (x % kWord));
  if (low_[x / kWord] == 0) mid_[x / kWord / kWord] &= ~(std::uint64_t{1} << (x / kWord % kWord));
}

std::size_t SuccessorSet::successor(std::size_t x) const {
  if (x >= kCapacity) return kNone;
  std::size_t word = x / kWord;
  if (const std::uint64_t bits = low_[word] >> (x % kWord); bits != 0) {
    return x + static_cast<std::size_t>(std::countr_zero(bits));
  }
  for (++word; word < low_.size(); word = (word / kWord + 1) * kWord) {
    const std::uint64_t words = mid_[word / kWord] >> (word % kWord);
    if (words == 0) continue;
    word += static_cast<std::size_t>(std::countr_zero(words));
    return word * kWord + static_cast<std::size_t>(std::countr_zero(low_[word]));
  }
  return kNone;
}

OpenPacks::OpenPacks(const metrics::PackCaps& caps)
    : row_shift_(shift_below(caps.vision_units, kMostRows)),
      column_shift_(shift_below(caps.tokens, SuccessorSet::kCapacity)),
      num_columns_((static_cast<std::size_t>(caps.tokens) >> column_shift_) + 1),
      rows_((static_cast<std::size_t>(caps.vision_units) >> row_shift_) + 1),
      heads_(rows_.size() * num_columns_, kNone) {}

void OpenPacks::insert(std::uint32_t group, Room room) {
  if (group >= next_.size()) {
    next_.resize(std::size_t{group} + 1, kNone);
    room_.resize(std::size_t{group} + 1);
  }
  const std::size_t row = room.vision >> row_shift_;
  const std::size_t column = room.tokens >> column_shift_;
  room_[group] = room;
  next_[group] = head(row, column);
  head(row, column) = group;
  rows_[row].insert(column);
}

OpenPacks::Found OpenPacks::tightest_in_row(std::size_t row, Room sample) {
  // Where all of a cell fits its first group is the answer; only cells that share their row or
  // column with the sample hold some that do not.
  constexpr int kMostTries = 16;
  int tries = 0;
  std::size_t column = rows_[row].successor(sample.tokens >> column_shift_);
  for (; column != SuccessorSet::kNone && tries < kMostTries;
       column = rows_[row].successor(column + 1)) {
    std::uint32_t before = kNone;
    for (std::uint32_t g = head(row, column); g != kNone && tries < kMostTries; g = next_[g]) {
      if (room_[g].vision >= sample.vision && room_[g].tokens >= sample.tokens) {
        return {row, column, before, g};
      }
      before = g;
      ++tries;
    }
  }
  return {};
}

std::uint32_t OpenPacks::remove(const Found& found) {
  const std::uint32_t after = next_[found.group];
  if (found.before != kNone) {
    next_[found.before] = after;
  } else {
    head(found.row, found.column) = after;
    if (after == kNone) rows_[found.row].erase(found.column);
  }
  return found.group;
}

std::uint32_t OpenPacks::take_tightest(Room sample) {
  Found best;
  for (std::size_t row = sample.vision >> row_shift_; row < rows_.size(); ++row) {
    const Found found = tightest_in_row(row, sample);
    if (found.column < best.column) best = found;
  }
  return best.group == kNone ? kNone : remove(best);
}

}  // namespace omnibal::pack
