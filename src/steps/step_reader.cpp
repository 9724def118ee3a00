// SPDX-License-Identifier: Apache-2.0
#include "omnibal/steps/step_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "omnibal/steps/row_order.h"
#include "steps/step_layout.h"

namespace omnibal::steps {
namespace {

/// Whether every row of `formed` is cut into whole rows of `ranks`, a step into a step.
bool splits(const RankSizes& ranks, const RankSizes& formed) {
  if (ranks.dp < 1 || ranks.dp > formed.dp || formed.dp % ranks.dp != 0) return false;
  return ranks.micro_batches == formed.micro_batches * (formed.dp / ranks.dp);
}

Status check_ranks(const RankSizes& ranks, const RankSizes& formed) {
  if (splits(ranks, formed)) return {};
  return Error(ErrorCode::kOutOfRange,
               fmt::format("{} micro-batches on {} ranks do not split the {} on {} that the steps "
                           "are formed for",
                           ranks.micro_batches, ranks.dp, formed.micro_batches, formed.dp))
      .at_key("dp")
      .with_value(ranks.dp)
      .with_limit(formed.dp);
}

/// Behind the last step of an epoch begins the next.
StepPosition normalised(const StepLayout& layout, const StepPosition& at) {
  const bool at_end = at.epoch >= 0 && at.step > 0 && at.step == layout.steps_in(at.epoch);
  return at_end ? StepPosition{at.epoch + 1, 0} : at;
}

const RankSizes& formed_sizes(const StepCursor& cursor, const RankSizes& of_plan) {
  return cursor.changes.empty() ? of_plan : cursor.changes.back().sizes;
}

RankSizes sizes_of(const StepTable& table) { return {table.dp, table.micro_batches}; }

}  // namespace

StepCursor first_step(const StepSource& source) {
  return {.at = {}, .ranks = sizes_of(*source.table), .changes = {}};
}

StepReader::StepReader(const StepSource& source, StepCursor cursor,
                       std::shared_ptr<const StepLayout> layout)
    : source_(source), cursor_(std::move(cursor)), layout_(std::move(layout)) {
  enter_epoch();
}

Result<StepReader> StepReader::open(const StepSource& source, const StepCursor& cursor) {
  OMNIBAL_ASSIGN(std::shared_ptr<const StepLayout> layout, layout_after(source, cursor.changes));
  OMNIBAL_RETURN_IF_ERROR(check_ranks(cursor.ranks, layout->sizes()));
  StepCursor here = cursor;
  here.at = normalised(*layout, here.at);
  OMNIBAL_RETURN_IF_ERROR(check_position(*layout, here.at));
  if (!here.changes.empty() && here.at < here.changes.back().at) {
    return Error(ErrorCode::kOutOfRange, "the last change of sizes lies behind the cursor")
        .at_key("changes");
  }
  return StepReader(source, std::move(here), std::move(layout));
}

Result<StepReader> StepReader::on_ranks(const RankSizes& ranks) const {
  StepCursor next = cursor_;
  // Sizes for which no step has run leave no trace.
  if (!next.changes.empty() && next.changes.back().at == next.at) next.changes.pop_back();
  if (!splits(ranks, formed_sizes(next, sizes_of(*source_.table)))) {
    StepOptions options = source_.options;
    options.dp = ranks.dp;
    options.micro_batches = ranks.micro_batches;
    OMNIBAL_RETURN_IF_ERROR(check_step_options(options));
    if (options.tail == Tail::kDrop && next.at.step > 0) {
      OMNIBAL_ASSIGN(const auto layout, layout_after(source_, next.changes));
      const auto left = static_cast<std::int64_t>(not_run(*layout, source_, next.at).size());
      if (left < ranks.dp * ranks.micro_batches) next.at = {next.at.epoch + 1, 0};
    }
    next.changes.push_back({next.at, ranks});
  }
  next.ranks = ranks;
  return open(source_, next);
}

void StepReader::enter_epoch() {
  order_.emplace(layout_->pool, PermutationKey{source_.options.seed,
                                               static_cast<std::uint32_t>(cursor_.at.epoch)});
}

std::vector<std::int64_t> StepReader::packs() const {
  std::vector<std::int64_t> packs = dealt_packs();
  const bool in_the_plan = cursor_.at.epoch == 0 && layout_->pool.table == source_.table;
  if (source_.options.row_order == RowOrder::kLightEnds && !in_the_plan) {
    put_light_ends_outside(packs, layout_->sizes().dp, source_.loads, source_.options.forward);
  }
  return packs;
}

std::vector<std::int64_t> StepReader::dealt_packs() const {
  const auto [dp, micro_batches] = layout_->sizes();
  std::vector<std::int64_t> packs(static_cast<std::size_t>(dp * micro_batches));
  if (layout_->is_rest(cursor_.at.epoch)) {
    const auto begin = layout_->rest->table.pack_ids.begin() +
                       (cursor_.at.step - layout_->rest->first_step) * dp * micro_batches;
    std::copy_n(begin, packs.size(), packs.begin());
    return packs;
  }
  for (std::int64_t m = 0; m < micro_batches; ++m) {
    order_->row(
        cursor_.at.step * micro_batches + m,
        std::span(packs).subspan(static_cast<std::size_t>(m * dp), static_cast<std::size_t>(dp)));
  }
  return packs;
}

void StepReader::advance() {
  const std::int64_t epoch = cursor_.at.epoch;
  ++cursor_.at.step;
  cursor_.at = normalised(*layout_, cursor_.at);
  if (cursor_.at.epoch != epoch) enter_epoch();
}

std::int64_t StepReader::steps_in_epoch() const { return layout_->steps_in(cursor_.at.epoch); }

std::int64_t StepReader::steps_left(std::int64_t num_epochs) const {
  const auto [epoch, step] = cursor_.at;
  if (epoch >= num_epochs) return 0;
  return steps_in_epoch() - step + (num_epochs - epoch - 1) * layout_->steps_in(epoch + 1);
}

}  // namespace omnibal::steps
