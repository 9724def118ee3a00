// SPDX-License-Identifier: Apache-2.0
//
// A small prepared directory with its plan and its pictures: tiles of 8 pixels and 2 tokens, token
// 9 stands for a picture's.
//
//   const SmallData small;              // in a scratch directory of its own
//   small.write_plan(limits);           // small.data(), small.plan()
//   small.picture(0);                   // path of the picture of row 1
//
// Not written by `omnibal scan`: tests in Python run that.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "codec/scratch_directory.h"
#include "omnibal/codec/npy.h"
#include "omnibal/corpus/corpus.h"
#include "omnibal/plan/data_plan.h"
#include "omnibal/plan/plan_directory.h"
#include "runtime/image/sample_images.h"

namespace omnibal::runtime {

class SmallData {
 public:
  static constexpr std::int64_t kImageToken = 9;

  SmallData() {
    for (int i = 0; i < 3; ++i)
      scratch_.write("p" + std::to_string(i) + ".jpg", jpeg_file(20 + i, 10));
    add_row({1, 2, 3, 4, 5}, {0, 0, 1, 1, 1}, {});
    add_row({1, 9, 9, 9, 9, 9, 9, 2, 3}, {0, 0, 0, 0, 0, 0, 0, 1, 1}, {{2, 1}});
    add_row({6, 7}, {0, 0}, {});
    add_row({1, 9, 9, 2, 9, 9, 3, 4}, {0, 0, 0, 0, 0, 0, 1, 1}, {{1, 1}, {1, 1}});
    for (const int row : {0, 1, 2, 3, 0}) add_sample(row);
    corpus_.unit = {.name = "tile-8", .vision_tokens = 4, .llm_tokens = 2};
    corpus_.supervised_is_estimate = false;
    corpus_.sources = {{.name = "made", .path = "made.jsonl", .hash = "", .num_samples = 5}};
    write_data();
  }

  std::string data() const { return scratch_ / "data"; }
  std::string plan() const { return scratch_ / "plan"; }
  std::string picture(int index) const { return scratch_ / ("p" + std::to_string(index) + ".jpg"); }
  const corpus::Corpus& corpus() const { return corpus_; }

  void write_plan(std::int64_t token_cap,
                  pack::OverLong over_long = pack::OverLong::kReject) const {
    plan::DataPlanOptions options;
    options.limits = pack::PackLimits::with_paper_floors(9, token_cap);
    options.admission.over_long = over_long;
    options.steps = steps::StepOptions{.dp = 2, .micro_batches = 2};
    const auto made = plan::make_data_plan(corpus_, options, {}, {});
    ASSERT_TRUE(made.ok()) << to_text(made.error());
    const Status written = plan::write_plan(
        {.corpus = corpus_, .data = *made, .document = plan::to_json(*made, corpus_, options)},
        plan());
    ASSERT_TRUE(written.ok()) << to_text(written.error());
  }

  template <class T>
  void write_array(const std::string& name, const std::vector<T>& values,
                   std::vector<std::int64_t> shape = {}) const {
    if (shape.empty()) shape = {static_cast<std::int64_t>(values.size())};
    ASSERT_TRUE(codec::write_npy<T>(data() + "/" + name + ".npy", shape, values).ok());
  }

 private:
  void add_row(const std::vector<std::uint32_t>& ids, const std::vector<std::uint8_t>& supervised,
               const std::vector<std::array<std::int32_t, 2>>& grids) {
    ids_.insert(ids_.end(), ids.begin(), ids.end());
    supervised_.insert(supervised_.end(), supervised.begin(), supervised.end());
    token_offsets_.push_back(static_cast<std::int64_t>(ids_.size()));
    std::uint32_t tiles = 0;
    for (const auto& [columns, rows] : grids) {
      const std::string path = picture(static_cast<int>(grids_.size()) / 2);
      grids_.insert(grids_.end(), {columns, rows});
      paths_.insert(paths_.end(), path.begin(), path.end());
      path_offsets_.push_back(static_cast<std::int64_t>(paths_.size()));
      tiles += static_cast<std::uint32_t>(columns * rows + (columns * rows > 1 ? 1 : 0));
    }
    image_offsets_.push_back(static_cast<std::int64_t>(grids_.size()) / 2);
    row_tiles_.push_back(tiles);
  }

  void add_sample(int row) {
    const auto at = static_cast<std::size_t>(row);
    prepared_row_.push_back(static_cast<std::uint32_t>(row));
    const bool blank = row == 2;  // of the text samples one carries a blank tile
    corpus_.vision.push_back(row_tiles_[at] + (blank ? 1 : 0));
    corpus_.dummy_vision.push_back(blank ? 1 : 0);
    corpus_.tokens.push_back(
        static_cast<std::uint32_t>(token_offsets_[at + 1] - token_offsets_[at]));
    corpus_.supervised.push_back(row == 0 ? 3 : row == 2 ? 0 : 2);
    corpus_.source.push_back(0);
    corpus_.row.push_back(static_cast<std::uint32_t>(row));
  }

  void write_data() const {
    ASSERT_TRUE(corpus::write_corpus(corpus_, data()).ok());
    scratch_.write("data/prepared.json",
                   R"({"format": "omnibal.prepared", "version": 1, "rows": 4, "rejected": 0,
                       "tile_size": 8, "image_token_id": 9, "chat_template_hash": ""})");
    write_array("prepared_row", prepared_row_);
    write_array("token_ids", ids_);
    write_array("token_supervised", supervised_);
    write_array("token_offsets", token_offsets_);
    write_array("image_offsets", image_offsets_);
    write_array("image_grids", grids_, {static_cast<std::int64_t>(grids_.size()) / 2, 2});
    write_array("image_paths", paths_);
    write_array("image_path_offsets", path_offsets_);
  }

  ScratchDirectory scratch_;
  corpus::Corpus corpus_;
  std::vector<std::uint32_t> ids_, prepared_row_, row_tiles_;
  std::vector<std::uint8_t> supervised_, paths_;
  std::vector<std::int64_t> token_offsets_ = {0}, image_offsets_ = {0}, path_offsets_ = {0};
  std::vector<std::int32_t> grids_;
};

}  // namespace omnibal::runtime
