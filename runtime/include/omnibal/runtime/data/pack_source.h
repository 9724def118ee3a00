// SPDX-License-Identifier: Apache-2.0
//
// PackSource: the packs of a plan as arrays that a model is fed: samples one after the other, each
// with its own positions and with labels shifted inside of it, and the tiles of their pictures.
//
//   OMNIBAL_ASSIGN(const PackSource source, PackSource::open("corpus", "plan", options));
//   OMNIBAL_ASSIGN(const PackArrays pack, source.load(steps.at(step, micro_batch, dp_rank)));
//   pack.ids[t], pack.labels[t], pack.weights[t];
//
// Not a choice of packs: plan and StepReader say which run when. Not ahead of time: prefetcher.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "omnibal/base/result.h"
#include "omnibal/plan/plan_directory.h"
#include "omnibal/runtime/data/loss_mode.h"
#include "omnibal/runtime/data/prepared_data.h"
#include "omnibal/runtime/image/decode.h"
#include "omnibal/runtime/image/preprocess.h"

namespace omnibal::runtime {

inline constexpr std::int64_t kUnsupervised = -100;

/// One pack. A zero-weight pack has no token and no tile.
struct PackArrays {
  std::int64_t pack = 0;
  std::vector<std::int64_t> samples;          // corpus indices
  std::vector<std::int64_t> segment_offsets;  // [samples + 1], from 0 to T
  std::vector<std::int64_t> ids;              // [T]
  std::vector<std::int64_t> positions;        // [T], from 0 in each sample
  std::vector<std::int64_t> labels;           // [T]: the token that follows, or kUnsupervised
  std::vector<double> weights;                // [T]: 0 where unsupervised
  std::int64_t num_tiles = 0;                 // of pictures
  std::int64_t num_blank_tiles = 0;  // that the plan charges but no token asks for: not fed
  std::vector<float> pixels;         // [num_tiles, 3, tile size, tile size]; empty: not asked for
  std::int64_t num_supervised = 0;
  double weight_sum = 0;

  std::int64_t num_tokens() const { return static_cast<std::int64_t>(ids.size()); }
};

struct PackOptions {
  LossMode loss = LossMode::kToken;
  /// Nothing: pictures are not read (stages behind the first need none).
  std::optional<ImageProcessor> images = std::nullopt;
  DecodeOptions decode = {};
};

class PackSource {
 public:
  /// Errors: those of PreparedData::open and PlanReader::open; kStalePlan where plan and data are
  /// not of the same samples; kInvalidPlan (a pack holds what is no sample, a
  /// sample is of no source); kOutOfRange (tiles of
  /// another size than the processor's).
  static Result<PackSource> open(const std::string& data, const std::string& plan,
                                 PackOptions options);

  std::int64_t num_packs() const;
  int tile_size() const { return data_->tile_size(); }
  const plan::PlanReader& plan() const { return *plan_; }

  /// Any thread. `pack`: below num_packs(), or steps::kZeroWeightPack. Errors name sample, source
  /// and row: those of load_image; kStalePlan, kInvalidPlan (a plan cut a sample where it may not
  /// be cut).
  Result<PackArrays> load(std::int64_t pack) const;

 private:
  PackSource(PreparedData data, plan::PlanReader plan, std::vector<std::string> source_names,
             PackOptions options);
  Status append_sample(std::int64_t sample, PackArrays& pack) const;
  Status append_images(const PreparedRow& row, PackArrays& pack) const;
  Error of_sample(std::int64_t sample, Error error) const;

  std::unique_ptr<const PreparedData> data_;
  std::unique_ptr<const plan::PlanReader> plan_;
  std::vector<std::string> source_names_;
  PackOptions options_;
};

}  // namespace omnibal::runtime
