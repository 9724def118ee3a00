// SPDX-License-Identifier: Apache-2.0
#include "omnibal/corpus/stream.h"

#include <utility>

#include "corpus/row_feed.h"

namespace omnibal::corpus {

struct SampleStream::State {
  State(std::unique_ptr<RowFeed> rows, std::uint64_t seed_of_draw, std::optional<FedRow> first)
      : feed(std::move(rows)), seed(seed_of_draw), ahead(first) {}

  std::unique_ptr<RowFeed> feed;
  std::uint64_t seed;
  RunningDraw draw{PhiloxRng(seed, RngStream::kMixture)};
  std::optional<FedRow> ahead;  // the first row, read when the input was opened
  std::optional<FedRow> row;    // of which copies are left
  std::int64_t times = 0;       // copies of it in all
  StreamPosition position;

  Result<bool> next_wanted_row();
  void pass_row();
};

/// The row is dealt with.
void SampleStream::State::pass_row() {
  position = {.rows = position.rows + 1,
              .copies = 0,
              .weights = (position.weights + row->weight) % kUnitWeight};
  row.reset();
}

/// Reads on to a row of which copies are left; false at the end.
Result<bool> SampleStream::State::next_wanted_row() {
  while (!row) {
    if (ahead) {
      row = std::exchange(ahead, std::nullopt);
    } else {
      OMNIBAL_ASSIGN(row, feed->next());
    }
    if (!row) return false;
    times = draw.times(row->weight);
    if (position.copies >= times) pass_row();
  }
  return true;
}

SampleStream::SampleStream(std::unique_ptr<State> state) : state_(std::move(state)) {}
SampleStream::SampleStream(SampleStream&&) noexcept = default;
SampleStream& SampleStream::operator=(SampleStream&&) noexcept = default;
SampleStream::~SampleStream() = default;

Result<SampleStream> SampleStream::open(const Input& input, const ReadOptions& options,
                                        const Progress& progress) {
  OMNIBAL_ASSIGN(std::unique_ptr<RowFeed> feed, open_feed(input, options, progress));
  OMNIBAL_ASSIGN(const std::optional<FedRow> first, feed->next());
  return SampleStream(std::make_unique<State>(std::move(feed), options.mixture.seed, first));
}

void SampleStream::continue_at(const StreamPosition& position) {
  state_->position = position;
  state_->draw = RunningDraw(PhiloxRng(state_->seed, RngStream::kMixture), position.weights);
}

Result<std::optional<StreamedSample>> SampleStream::next() {
  State& state = *state_;
  OMNIBAL_ASSIGN(const bool found, state.next_wanted_row());
  if (!found) return std::optional<StreamedSample>();
  const FedRow row = *state.row;
  StreamedSample sample{.id = state.position.rows,
                        .source = row.source,
                        .row = state.feed->is_list() ? state.position.rows : row.row,
                        .file = row.file,
                        .file_row = row.row,
                        .vision = row.vision,
                        .tokens = row.tokens,
                        .at = state.position,
                        .behind = {}};
  if (++state.position.copies == state.times) state.pass_row();
  sample.behind = state.position;
  return std::optional(sample);
}

const StreamPosition& SampleStream::position() const { return state_->position; }
const std::vector<std::string>& SampleStream::files() const { return state_->feed->files(); }
std::vector<Finding> SampleStream::findings() const { return state_->feed->findings(); }

}  // namespace omnibal::corpus
