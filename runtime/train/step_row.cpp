// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "omnibal/runtime/train/train.h"

namespace omnibal::runtime {
namespace {

double share_of_tiles(const StepRow& row) {
  return static_cast<double>(row.tiles) / static_cast<double>(row.tile_capacity);
}

double per_second(std::int64_t count, const StepRow& row) {
  return row.seconds > 0 ? static_cast<double>(count) / row.seconds : 0;
}

}  // namespace

codec::Json to_json(const StepRow& row) {
  codec::Json json = {{"step", row.step},
                      {"loss", row.loss},
                      {"tokens", row.tokens},
                      {"seconds", row.seconds},
                      {"predicted_s", nullptr},
                      {"peak_bytes", row.peak_bytes},
                      {"activation_bytes", row.activation_bytes},
                      {"epoch", row.epoch},
                      {"gradient_norm", row.gradient_norm},
                      {"lr", row.lr},
                      {"supervised", row.supervised},
                      {"token_capacity", row.token_capacity},
                      {"tiles", row.tiles},
                      {"tile_capacity", row.tile_capacity}};
  if (row.predicted_s) json["predicted_s"] = *row.predicted_s;
  return json;
}

std::string to_text(const StepRow& row) {
  const std::string predicted =
      row.predicted_s ? fmt::format(", predicted {:.3g} s", *row.predicted_s) : "";
  const std::string tiles =
      row.tile_capacity > 0 ? fmt::format("  tiles {:.0f} % full", 100 * share_of_tiles(row)) : "";
  return fmt::format(
      "step {}/{}  loss {:.4f}  {:.0f} tokens/s ({:.0f} with padding){}  {:.3g} s{}  peak {:.2f} "
      "GB",
      row.step, row.num_steps, row.loss, per_second(row.tokens, row),
      per_second(row.token_capacity, row), tiles, row.seconds, predicted,
      static_cast<double>(row.peak_bytes) / 1e9);
}

}  // namespace omnibal::runtime
