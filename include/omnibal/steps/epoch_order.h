// SPDX-License-Identifier: Apache-2.0
//
// EpochOrder: the groups of a step table in the order of any epoch. Packs and groups stay as they
// are; epoch 0 is the table itself.
//
//   OMNIBAL_ASSIGN(const GroupPool pool, group_pool(table, num_packs, Tail::kZeroWeight));
//   const EpochOrder order(pool, {.seed = seed, .epoch = 3});
//   order.row(step * table.micro_batches + micro_batch, packs_of_the_ranks);
//
// Not for where a run stands or on how many ranks: step_reader.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "omnibal/base/philox.h"
#include "omnibal/base/result.h"
#include "omnibal/steps/row_permutation.h"
#include "omnibal/steps/step_table.h"

namespace omnibal::steps {

/// What the epochs deal: complete groups, numbered through the rows of the table and then those
/// that it leaves out, and the packs that fill none.
struct GroupPool {
  const StepTable* table = nullptr;
  Tail tail = Tail::kZeroWeight;
  std::int64_t num_groups = 0;
  /// Tail::kDrop: left out in epoch 0; in later ones dp of these and of the last group's packs
  /// run. Tail::kRepeat: run in the row behind the groups, with packs of the last group.
  std::vector<std::int64_t> spare;

  std::span<const std::int64_t> group(std::int64_t g) const;
};

/// `table` must outlive the result. Error: kInvalidPlan, if an id is none of `num_packs`, or the
/// packs do not run as often as the tail policy says. O(entries).
Result<GroupPool> group_pool(const StepTable& table, std::int64_t num_packs, Tail tail);

class EpochOrder {
 public:
  /// `pool` must outlive this. O(1).
  EpochOrder(const GroupPool& pool, const PermutationKey& key);

  /// The packs of the dp ranks in row `i` of the epoch. O(dp): no other row is looked at.
  void row(std::int64_t i, std::span<std::int64_t> packs) const;

 private:
  std::int64_t group_at(std::int64_t i) const;
  std::vector<std::int64_t> candidates(std::int64_t i, PhiloxRng& rng) const;

  const GroupPool* pool_;
  std::uint32_t epoch_;
  RowPermutation order_;
  std::uint64_t rank_seed_;
};

}  // namespace omnibal::steps
