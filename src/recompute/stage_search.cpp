// SPDX-License-Identifier: Apache-2.0
#include "recompute/stage_search.h"

#include <algorithm>
#include <tuple>

namespace omnibal::recompute {

void ClassLayers::add(std::size_t index, const BarLayer& layer) {
  layers.push_back(index);
  time_s.push_back(time_s.back() + layer.recompute_s);
  transient_bytes.push_back(std::max(transient_bytes.back(), layer.activation_bytes));
}

StageSearch::StageSearch(const BarProblem& problem, StageIndex stage, std::size_t begin,
                         std::size_t end, const MemoryProbe& probe, const RecomputeMask& others)
    : probe_(probe), stage_(stage), limit_(problem.memory_limit_bytes), around_(others) {
  for (std::size_t i = begin; i < end; ++i) {
    const BarLayer& layer = problem.layers[i];
    if (!layer.can_recompute) continue;
    ClassLayers& of_class = layer.layer_class == LayerClass::kVision ? vision_
                            : layer.layer_class == LayerClass::kLlm  ? llm_
                                                                     : other_;
    of_class.add(i, layer);
  }
}

void StageSearch::apply(const Counts& counts, RecomputeMask& mask) const {
  for (std::size_t k = 0; k < counts.vision; ++k) mask[vision_.layers[k]] = true;
  for (std::size_t k = 0; k < counts.llm; ++k) mask[llm_.layers[k]] = true;
  if (!others_recompute_) return;
  for (const std::size_t layer : other_.layers) mask[layer] = true;
}

std::int64_t StageSearch::peak(const Counts& counts) {
  RecomputeMask mask = around_;
  apply(counts, mask);
  const std::int64_t bytes = probe_(stage_, mask);
  least_peak_ = std::min(least_peak_, bytes);
  return bytes;
}

/// Steps 1 to 3 of the paper.
void StageSearch::measure_savings() {
  const Counts everything{vision_.size(), llm_.size()};
  const std::int64_t full = peak(everything);
  free_bytes_ = limit_ - full;
  if (vision_.size() > 0) vision_saving_ = peak({vision_.size() - 1, llm_.size()}) - full;
  if (llm_.size() > 0) llm_saving_ = peak({vision_.size(), llm_.size() - 1}) - full;
}

/// How many LLM layers must recompute beside `vision` ViT layers, if every layer of a class saves
/// the same.
std::size_t StageSearch::estimate_llm(std::size_t vision) const {
  const auto vision_off = static_cast<std::int64_t>(vision_.size() - vision);
  const std::int64_t for_llm = free_bytes_ - vision_off * vision_saving_;
  if (for_llm < 0) return llm_.size();
  if (llm_saving_ <= 0) return 0;
  const auto llm_off = static_cast<std::size_t>(for_llm / llm_saving_);
  return llm_.size() - std::min(llm_off, llm_.size());
}

/// The least count in [low, high] that fits, given that `high` does and that the transient is the
/// same everywhere in between: then more recomputation never needs more memory. The estimate is
/// tried first.
std::size_t StageSearch::least_llm_within(std::size_t vision, std::size_t low, std::size_t high) {
  const std::size_t guess = std::clamp(estimate_llm(vision), low, high);
  if (guess < high && !fits({vision, guess})) {
    low = guess + 1;
  } else {
    high = guess;
    if (low == high || !fits({vision, high - 1})) return high;
    --high;
  }
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    const bool enough = fits({vision, middle});
    (enough ? high : low) = enough ? middle : middle + 1;
  }
  return high;
}

/// The least k_l that fits beside `vision` ViT layers. The transient grows with k_l in steps; each
/// flat piece is searched on its own, because at a step memory may rise.
std::optional<std::size_t> StageSearch::least_llm(std::size_t vision) {
  const std::int64_t floor = std::max(vision_.transient_bytes[vision],
                                      others_recompute_ ? other_.transient_bytes.back() : 0);
  const auto transient = [&](std::size_t llm) {
    return std::max(floor, llm_.transient_bytes[llm]);
  };
  for (std::size_t low = 0; low <= llm_.size();) {
    std::size_t high = low;
    while (high < llm_.size() && transient(high + 1) == transient(low)) ++high;
    if (fits({vision, high})) return least_llm_within(vision, low, high);
    low = high + 1;
  }
  return std::nullopt;
}

std::optional<Counts> StageSearch::least_time() {
  measure_savings();
  std::optional<Counts> best;
  const auto key = [&](const Counts& c) {
    return std::tuple(vision_.time_s[c.vision] + llm_.time_s[c.llm], c.vision + c.llm, c.vision);
  };
  for (std::size_t vision = 0; vision <= vision_.size(); ++vision) {
    if (best && vision_.time_s[vision] > std::get<0>(key(*best))) break;
    const std::optional<std::size_t> llm = least_llm(vision);
    if (llm && (!best || key({vision, *llm}) < key(*best))) best = Counts{vision, *llm};
  }
  return best;
}

bool StageSearch::choose(RecomputeMask& mask) {
  std::optional<Counts> found = least_time();
  if (!found && other_.size() > 0) {
    others_recompute_ = true;
    found = least_time();
  }
  if (!found) return false;
  apply(*found, mask);
  return true;
}

}  // namespace omnibal::recompute
