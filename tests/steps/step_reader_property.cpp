// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "made_loads.h"
#include "omnibal/steps/step_reader.h"

namespace omnibal::steps {
namespace {

StepOptions reader_options(PhiloxRng& rng) {
  return {.dp = 1 + rng.below(9),
          .micro_batches = 1 + rng.below(4),
          .window = rng.below(6),
          .tail = static_cast<Tail>(rng.below(3)),
          .seed = rng.next_u64()};
}

/// How often the packs of one epoch may run.
void check_epoch(const std::vector<std::int64_t>& trained, std::int64_t num_packs, Tail tail) {
  const auto runs = runs_of(trained);
  for (const auto& [pack, count] : runs) {
    ASSERT_TRUE(pack >= 0 && pack < num_packs);
    if (tail != Tail::kRepeat) {
      ASSERT_EQ(count, 1);
    }
  }
  if (tail != Tail::kDrop) {
    ASSERT_EQ(static_cast<std::int64_t>(runs.size()), num_packs);
  }
  if (tail != Tail::kZeroWeight) {
    ASSERT_EQ(std::ranges::count(trained, kZeroWeightPack), 0);
  }
}

/// Reads three epochs, through a cursor opened anew at every step, now and then on other ranks.
void walk(const MadeSteps& made, PhiloxRng& rng) {
  const auto num_packs = static_cast<std::int64_t>(made.loads.size());
  auto reader = StepReader::open(made.source(), first_step(made.source()));
  ASSERT_TRUE(reader.ok());
  std::vector<std::int64_t> trained;
  std::int64_t epoch = 0;
  while (epoch < 3) {
    if (rng.below(12) == 0) {
      auto moved = reader->on_ranks({1 + rng.below(9), 1 + rng.below(4)});
      if (moved.ok()) {
        *reader = *std::move(moved);
      } else {  // a whole epoch of fewer packs than one step
        ASSERT_EQ(made.options.tail, Tail::kDrop);
      }
    }
    if (reader->cursor().at.epoch == epoch) {
      const std::vector<std::int64_t> packs = reader->packs();
      trained.insert(trained.end(), packs.begin(), packs.end());
      reader->advance();
      auto again = StepReader::open(made.source(), reader->cursor());
      ASSERT_TRUE(again.ok()) << to_text(again.error());
      ASSERT_EQ(again->packs(), reader->packs());
      *reader = *std::move(again);
    }
    if (reader->cursor().at.epoch == epoch) continue;
    ASSERT_NO_FATAL_FAILURE(check_epoch(trained, num_packs, made.options.tail));
    trained.clear();
    ++epoch;
  }
}

TEST(StepReaderProperty, EveryPackRunsAsTheTailSaysHoweverRanksChange) {
  PhiloxRng rng(61, RngStream::kTest);
  for (int trial = 0; trial < 150; ++trial) {
    SCOPED_TRACE(trial);
    const StepOptions options = reader_options(rng);
    Loads loads = made_loads(1 + rng.below(120), 1 + rng.below(6), rng.next_u64(), rng.below(2));
    const auto formed = form_steps(loads, options);
    if (!formed.ok()) continue;
    ASSERT_NO_FATAL_FAILURE(walk(made_steps(std::move(loads), options), rng));
  }
}

TEST(EpochOrderProperty, EveryEpochRunsEveryPackAsTheTailSays) {
  PhiloxRng rng(62, RngStream::kTest);
  for (int trial = 0; trial < 400; ++trial) {
    SCOPED_TRACE(trial);
    const StepOptions options = reader_options(rng);
    const auto n = static_cast<std::int64_t>(1 + rng.below(300));
    const Loads loads = made_loads(n, 1 + rng.below(6), rng.next_u64(), rng.below(2));
    const auto table = form_steps(loads, options);
    if (!table.ok()) continue;
    const auto pool = group_pool(*table, n, options.tail);
    ASSERT_TRUE(pool.ok()) << to_text(pool.error());
    for (const std::uint32_t epoch : {1U, 2U, 1000000U}) {
      ASSERT_NO_FATAL_FAILURE(check_epoch(epoch_of(*pool, options.seed, epoch), n, options.tail));
    }
  }
}

TEST(EpochOrderProperty, TablesDealtInAnyOtherWayHaveEpochsToo) {
  PhiloxRng rng(63, RngStream::kTest);
  for (int trial = 0; trial < 200; ++trial) {
    SCOPED_TRACE(trial);
    const StepOptions options = reader_options(rng);
    const auto n = static_cast<std::int64_t>(1 + rng.below(200));
    const auto table = deal_randomly(n, options);
    if (!table.ok()) continue;
    const auto pool = group_pool(*table, n, options.tail);
    ASSERT_TRUE(pool.ok()) << to_text(pool.error());
    ASSERT_NO_FATAL_FAILURE(check_epoch(epoch_of(*pool, options.seed, 1), n, options.tail));
  }
}

}  // namespace
}  // namespace omnibal::steps
