// SPDX-License-Identifier: Apache-2.0
#include "omnibal/steps/epoch_order.h"

#include <fmt/format.h>

#include <algorithm>

namespace omnibal::steps {
namespace {

std::span<const std::int64_t> row_of(const StepTable& table, std::int64_t row) {
  return std::span(table.pack_ids)
      .subspan(static_cast<std::size_t>(row * table.dp), static_cast<std::size_t>(table.dp));
}

bool has_zero_weight(std::span<const std::int64_t> row) {
  return std::ranges::find(row, kZeroWeightPack) != row.end();
}

/// Rows before those at the end that hold zero-weight packs.
std::int64_t complete_rows(const StepTable& table) {
  std::int64_t rows = table.grid().rows();
  while (rows > 0 && has_zero_weight(row_of(table, rows - 1))) --rows;
  return rows;
}

/// Of the row behind the complete groups, the packs that are not lent by the last of them.
std::vector<std::int64_t> packs_beside_lent(const StepTable& table, std::int64_t groups) {
  std::vector<std::int64_t> own;
  for (const std::int64_t pack : row_of(table, groups)) {
    const bool lent = groups > 0 && std::ranges::count(row_of(table, groups - 1), pack) > 0;
    if (!lent && std::ranges::count(own, pack) == 0) own.push_back(pack);
  }
  std::ranges::sort(own);
  return own;
}

GroupPool laid_out_pool(const StepTable& table, std::int64_t num_packs, Tail tail) {
  GroupPool pool{.table = &table, .tail = tail, .num_groups = table.grid().rows(), .spare = {}};
  if (tail == Tail::kZeroWeight) pool.num_groups = complete_rows(table);
  if (tail == Tail::kDrop) {
    const auto spare = static_cast<std::ptrdiff_t>(table.dropped.size()) % table.dp;
    pool.spare.assign(table.dropped.end() - spare, table.dropped.end());
    pool.num_groups += static_cast<std::int64_t>(table.dropped.size()) / table.dp;
  }
  if (tail == Tail::kRepeat) {
    pool.num_groups = std::min(pool.num_groups, num_packs / table.dp);
    const bool rest = num_packs % table.dp != 0 && pool.num_groups < table.grid().rows();
    if (rest) pool.spare = packs_beside_lent(table, pool.num_groups);
  }
  return pool;
}

/// How often the epoch's first run of every pack is dealt.
class Dealt {
 public:
  explicit Dealt(std::int64_t num_packs) : seen_(static_cast<std::size_t>(num_packs)) {}

  Status add(std::span<const std::int64_t> packs) {
    for (const std::int64_t pack : packs) {
      if (pack == kZeroWeightPack) continue;
      if (pack < 0 || pack >= static_cast<std::int64_t>(seen_.size())) {
        return invalid(fmt::format("a step runs pack {}, there are {}", pack, seen_.size()), pack);
      }
      if (seen_[static_cast<std::size_t>(pack)]) {
        return invalid(fmt::format("pack {} runs in two groups", pack), pack);
      }
      seen_[static_cast<std::size_t>(pack)] = true;
      ++count_;
    }
    return {};
  }
  /// Every pack must have been added.
  Status all() const {
    if (count_ == static_cast<std::int64_t>(seen_.size())) return {};
    const auto first = std::ranges::find(seen_, false) - seen_.begin();
    return invalid(fmt::format("pack {} runs in no step", first), first);
  }

 private:
  static Error invalid(std::string message, std::int64_t pack) {
    return Error(ErrorCode::kInvalidPlan, std::move(message))
        .in_file("steps.npy")
        .with_value(pack)
        .with_hint("the plan is damaged: check it with `omnibal verify`, or make it anew");
  }

  std::vector<bool> seen_;
  std::int64_t count_ = 0;
};

}  // namespace

std::span<const std::int64_t> GroupPool::group(std::int64_t g) const {
  const std::int64_t rows = table->grid().rows();
  if (g < rows) return row_of(*table, g);
  return std::span(table->dropped)
      .subspan(static_cast<std::size_t>((g - rows) * table->dp),
               static_cast<std::size_t>(table->dp));
}

Result<GroupPool> group_pool(const StepTable& table, std::int64_t num_packs, Tail tail) {
  GroupPool pool = laid_out_pool(table, num_packs, tail);
  Dealt dealt(num_packs);
  for (std::int64_t g = 0; g < pool.num_groups; ++g) {
    OMNIBAL_RETURN_IF_ERROR(dealt.add(pool.group(g)));
  }
  OMNIBAL_RETURN_IF_ERROR(dealt.add(pool.spare));
  if (tail == Tail::kZeroWeight) {
    for (std::int64_t row = pool.num_groups; row < table.grid().rows(); ++row) {
      OMNIBAL_RETURN_IF_ERROR(dealt.add(row_of(table, row)));
    }
  }
  OMNIBAL_RETURN_IF_ERROR(dealt.all());
  return pool;
}

EpochOrder::EpochOrder(const GroupPool& pool, const PermutationKey& key)
    : pool_(&pool),
      epoch_(key.epoch),
      order_(pool.num_groups, key),
      rank_seed_(PhiloxRng(key.seed, RngStream::kEpochRanks, key.epoch).next_u64()) {}

/// The group at place `i`. With tail policy `repeat` the group that lends packs to the row behind
/// it stays last: it would run a third time if it were among the first, which run again.
std::int64_t EpochOrder::group_at(std::int64_t i) const {
  const std::int64_t last = pool_->num_groups - 1;
  if (pool_->tail != Tail::kRepeat) return order_(i);
  if (i == last) return last;
  const std::int64_t group = order_(i);
  return group == last ? order_(last) : group;
}

/// The packs that may run in row `i`, those that do first.
std::vector<std::int64_t> EpochOrder::candidates(std::int64_t i, PhiloxRng& rng) const {
  const GroupPool& pool = *pool_;
  const auto copy = [](std::span<const std::int64_t> packs) {
    return std::vector<std::int64_t>(packs.begin(), packs.end());
  };
  if (pool.tail == Tail::kRepeat) i %= pool.num_groups + (pool.spare.empty() ? 0 : 1);
  if (i < pool.num_groups) {
    const std::int64_t group = group_at(i);
    std::vector<std::int64_t> packs = copy(pool.group(group));
    if (pool.tail == Tail::kDrop && group == pool.num_groups - 1) {
      packs.insert(packs.end(), pool.spare.begin(), pool.spare.end());
      shuffle(std::span(packs), rng);
    }
    return packs;
  }
  if (pool.tail == Tail::kZeroWeight) return copy(row_of(*pool.table, i));
  std::vector<std::int64_t> lent =
      copy(pool.num_groups > 0 ? pool.group(pool.num_groups - 1) : std::span(pool.spare));
  shuffle(std::span(lent), rng);
  std::vector<std::int64_t> packs = pool.spare;
  const auto dp = static_cast<std::size_t>(pool.table->dp);
  for (std::size_t l = 0; packs.size() < dp; ++l) packs.push_back(lent[l % lent.size()]);
  return packs;
}

void EpochOrder::row(std::int64_t i, std::span<std::int64_t> packs) const {
  if (epoch_ == 0) {
    std::ranges::copy(row_of(*pool_->table, i), packs.begin());
    return;
  }
  PhiloxRng rng(rank_seed_, RngStream::kEpochRanks, static_cast<std::uint32_t>(i));
  const std::vector<std::int64_t> chosen = candidates(i, rng);
  std::copy_n(chosen.begin(), packs.size(), packs.begin());
  shuffle(packs, rng);
}

}  // namespace omnibal::steps
