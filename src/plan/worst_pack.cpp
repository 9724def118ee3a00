// SPDX-License-Identifier: Apache-2.0
#include "omnibal/plan/worst_pack.h"

#include <algorithm>
#include <cmath>

namespace omnibal::plan {
namespace {

std::optional<PackPlace> place_of(std::int64_t pack, const steps::StepTable& table) {
  const auto found = std::ranges::find(table.pack_ids, pack);
  if (found == table.pack_ids.end()) return std::nullopt;
  const auto entry = static_cast<std::int64_t>(found - table.pack_ids.begin());
  const std::int64_t row = entry / table.dp;
  return PackPlace{row / table.micro_batches, row % table.micro_batches, entry % table.dp};
}

}  // namespace

cost::LinearCost activation_bytes_of(const cost::Profile& profile) {
  cost::LinearCost sum;
  bool trainable_before = false;
  for (const cost::LayerProfile& layer : profile.layers) {
    trainable_before = trainable_before || layer.trainable;
    if (trainable_before) sum += layer.activation_bytes;
  }
  return sum;
}

std::int64_t heaviest_pack(std::span<const metrics::PackLoad> loads,
                           const cost::LinearCost& activation_bytes) {
  std::int64_t heaviest = -1;
  double most = 0;
  for (std::size_t p = 0; p < loads.size(); ++p) {
    const double bytes = activation_bytes.at(metrics::to_load(loads[p]));
    if (heaviest >= 0 && bytes <= most) continue;
    heaviest = static_cast<std::int64_t>(p);
    most = bytes;
  }
  return heaviest;
}

WorstPack worst_pack(std::int64_t pack, std::span<const metrics::PackLoad> loads,
                     const steps::StepTable& table, const cost::LinearCost& activation_bytes) {
  const metrics::PackLoad& load = loads[static_cast<std::size_t>(pack)];
  const double bytes = activation_bytes.at(metrics::to_load(load));
  return {.pack = pack,
          .load = load,
          .activation_bytes =
              std::llround(std::clamp(bytes, 0.0, static_cast<double>(cost::kBytesLimit))),
          .place = place_of(pack, table)};
}

codec::Json to_json(const WorstPack& worst) {
  codec::Json json = {{"pack", worst.pack},
                      {"vision_units", worst.load.vision_units},
                      {"tokens", worst.load.tokens},
                      {"token_pairs", worst.load.token_pairs},
                      {"activation_bytes", worst.activation_bytes},
                      {"step", nullptr},
                      {"micro_batch", nullptr},
                      {"rank", nullptr}};
  if (!worst.place) return json;
  json["step"] = worst.place->step;
  json["micro_batch"] = worst.place->micro_batch;
  json["rank"] = worst.place->rank;
  return json;
}

}  // namespace omnibal::plan
