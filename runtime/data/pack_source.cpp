// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/data/pack_source.h"

#include <fmt/format.h>

#include <algorithm>

#include "omnibal/runtime/image/decode.h"
#include "omnibal/steps/step_table.h"

namespace omnibal::runtime {
namespace {

template <class T>
std::size_t first_difference(std::span<const T> a, std::span<const T> b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

/// The plan may have cut samples, and nothing else may differ.
Status check_same_samples(const PreparedData& data, const plan::PlanReader& plan) {
  const CorpusColumns& columns = data.columns();
  const std::span<const std::uint32_t> planned = plan.sample_tokens();
  std::size_t same = std::min(columns.tokens.size(), planned.size());
  same = std::min(same, first_difference(columns.vision, plan.sample_vision()));
  same = std::min(same, first_difference(columns.source, plan.sample_source()));
  same = std::min(same, first_difference(columns.row, plan.sample_row()));
  const auto longer = std::ranges::mismatch(planned, columns.tokens, std::ranges::less_equal());
  same = std::min(same, static_cast<std::size_t>(longer.in1 - planned.begin()));
  if (same == columns.tokens.size() && same == planned.size()) return {};
  return Error(ErrorCode::kStalePlan,
               fmt::format("the plan is not of this data: sample {} differs", same))
      .with_value(static_cast<std::int64_t>(planned.size()))
      .with_limit(static_cast<std::int64_t>(columns.tokens.size()))
      .with_hint("make the plan from this directory: omnibal plan DATA ...");
}

Status check_packs(const plan::PlanReader& plan, std::int64_t num_samples) {
  const std::span<const std::int64_t> offsets = plan.pack_offsets();
  const auto size = static_cast<std::int64_t>(plan.pack_samples().size());
  const bool in_order =
      offsets.front() == 0 && offsets.back() == size && std::ranges::is_sorted(offsets);
  const bool all_known = std::ranges::all_of(
      plan.pack_samples(), [&](std::int64_t s) { return s >= 0 && s < num_samples; });
  if (in_order && all_known) return {};
  return Error(ErrorCode::kInvalidPlan, "a pack of the plan holds what is no sample")
      .with_limit(num_samples - 1);
}

Result<std::vector<std::string>> source_names(const plan::PlanReader& plan,
                                              const std::string& directory) {
  const std::string file = directory + "/plan.json";
  const codec::JsonFields fields(plan.document(), file);
  OMNIBAL_ASSIGN(const codec::Json* corpus, fields.object("corpus"));
  const codec::JsonFields corpus_fields(*corpus, file, "corpus");
  OMNIBAL_ASSIGN(const codec::Json* sources, corpus_fields.array("sources"));
  std::vector<std::string> names;
  for (const codec::Json& source : *sources) {
    OMNIBAL_ASSIGN(names.emplace_back(),
                   codec::JsonFields(source, file, "corpus.sources").text("name"));
  }
  for (const std::uint16_t source : plan.sample_source()) {
    if (source < names.size()) continue;
    return Error(ErrorCode::kInvalidPlan, "a sample is of no source")
        .in_file(directory + "/sample_source.npy")
        .with_value(std::int64_t{source})
        .with_limit(static_cast<std::int64_t>(names.size()) - 1);
  }
  return names;
}

std::int64_t count_tiles(const PreparedRow& row) {
  std::int64_t tiles = 0;
  for (const PreparedImage& image : row.images) tiles += image.grid.tiles();
  return tiles;
}

/// Tokens from `begin` on are those of one sample: positions, and the labels and weights of what
/// follows each.
void append_targets(std::span<const std::uint8_t> supervised, LossMode mode, PackArrays& pack) {
  const std::size_t begin = pack.labels.size();
  const std::size_t count = pack.ids.size() - begin;
  std::int64_t num_supervised = 0;
  for (std::size_t t = 0; t < count; ++t) {
    const bool predicts = t + 1 < count && supervised[t + 1] != 0;
    pack.positions.push_back(static_cast<std::int64_t>(t));
    pack.labels.push_back(predicts ? pack.ids[begin + t + 1] : kUnsupervised);
    num_supervised += predicts ? 1 : 0;
  }
  const double weight = num_supervised > 0 ? token_weight(mode, num_supervised) : 0.0;
  for (std::size_t t = 0; t < count; ++t) {
    pack.weights.push_back(pack.labels[begin + t] == kUnsupervised ? 0.0 : weight);
  }
  pack.num_supervised += num_supervised;
  pack.weight_sum += weight * static_cast<double>(num_supervised);
}

}  // namespace

PackSource::PackSource(PreparedData data, plan::PlanReader plan,
                       std::vector<std::string> source_names, PackOptions options)
    : data_(std::make_unique<const PreparedData>(std::move(data))),
      plan_(std::make_unique<const plan::PlanReader>(std::move(plan))),
      source_names_(std::move(source_names)),
      options_(std::move(options)) {}

Result<PackSource> PackSource::open(const std::string& data, const std::string& plan,
                                    PackOptions options) {
  OMNIBAL_ASSIGN(PreparedData prepared, PreparedData::open(data));
  OMNIBAL_ASSIGN(plan::PlanReader reader, plan::PlanReader::open(plan));
  OMNIBAL_RETURN_IF_ERROR(check_same_samples(prepared, reader));
  OMNIBAL_RETURN_IF_ERROR(check_packs(reader, prepared.num_samples()));
  OMNIBAL_ASSIGN(std::vector<std::string> names, source_names(reader, plan));
  if (options.images && options.images->tiling.tile_size != prepared.tile_size()) {
    return Error(ErrorCode::kOutOfRange, "the data has tiles of another size than the model")
        .in_file(data)
        .with_value(std::int64_t{prepared.tile_size()})
        .with_limit(std::int64_t{options.images->tiling.tile_size})
        .with_hint("scan the annotations again with this model");
  }
  return PackSource(std::move(prepared), std::move(reader), std::move(names), std::move(options));
}

std::int64_t PackSource::num_packs() const {
  return static_cast<std::int64_t>(plan_->pack_offsets().size()) - 1;
}

Result<PackArrays> PackSource::load(std::int64_t pack) const {
  PackArrays arrays;
  arrays.pack = pack;
  arrays.segment_offsets = {0};
  if (pack == steps::kZeroWeightPack) return arrays;
  const std::span<const std::int64_t> offsets = plan_->pack_offsets();
  const auto index = static_cast<std::size_t>(pack);
  for (std::int64_t i = offsets[index]; i < offsets[index + 1]; ++i) {
    const std::int64_t sample = plan_->pack_samples()[static_cast<std::size_t>(i)];
    if (Status status = append_sample(sample, arrays); !status.ok()) {
      return of_sample(sample, std::move(status).error());
    }
  }
  return arrays;
}

Status PackSource::append_sample(std::int64_t sample, PackArrays& pack) const {
  const auto index = static_cast<std::size_t>(sample);
  const PreparedRow row = data_->row_of(sample);
  const std::size_t length = plan_->sample_tokens()[index];
  const auto is_image = [&](std::uint32_t token) { return token == data_->image_token(); };
  if (std::ranges::any_of(row.tokens.subspan(length), is_image)) {
    return Error(ErrorCode::kInvalidPlan, "the plan cuts the sample within its pictures")
        .with_value(static_cast<std::int64_t>(length));
  }
  const std::int64_t tiles = count_tiles(row);
  const std::int64_t blank = data_->columns().dummy_vision[index];
  if (tiles + blank != data_->columns().vision[index]) {
    return Error(ErrorCode::kStalePlan, "the sample has other tiles than its pictures")
        .with_value(tiles + blank)
        .with_limit(std::int64_t{data_->columns().vision[index]});
  }
  pack.samples.push_back(sample);
  pack.ids.insert(pack.ids.end(), row.tokens.begin(),
                  row.tokens.begin() + static_cast<std::ptrdiff_t>(length));
  append_targets(row.supervised, options_.loss, pack);
  pack.segment_offsets.push_back(pack.num_tokens());
  pack.num_tiles += tiles;
  pack.num_blank_tiles += blank;
  return options_.images ? append_images(row, pack) : Status();
}

Status PackSource::append_images(const PreparedRow& row, PackArrays& pack) const {
  for (const PreparedImage& image : row.images) {
    OMNIBAL_ASSIGN(const Image decoded, load_image(image.path, options_.decode));
    const PixelValues fed = preprocess(decoded, *options_.images, image.grid);
    pack.pixels.insert(pack.pixels.end(), fed.values.begin(), fed.values.end());
  }
  return {};
}

Error PackSource::of_sample(std::int64_t sample, Error error) const {
  const auto index = static_cast<std::size_t>(sample);
  const std::int64_t row = plan_->sample_row()[index];
  const std::string& name = source_names_[plan_->sample_source()[index]];
  error.message = fmt::format("sample {} (row {} of \"{}\"): {}", sample, row, name, error.message);
  return std::move(error).at_row(row);
}

}  // namespace omnibal::runtime
