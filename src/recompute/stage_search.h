// SPDX-License-Identifier: Apache-2.0
//
// StageSearch: BAR within one stage. Counts (k_v, k_l) stand for "the first k_v ViT layers and the
// first k_l LLM layers of the stage that can recompute, recompute".
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "omnibal/recompute/bar.h"

namespace omnibal::recompute {

struct Counts {
  std::size_t vision = 0;
  std::size_t llm = 0;
};

/// The layers of one class in a stage that can recompute, with what the first k of them mean.
struct ClassLayers {
  std::vector<std::size_t> layers;
  std::vector<double> time_s{0};                 // [k]: seconds a micro-batch
  std::vector<std::int64_t> transient_bytes{0};  // [k]: largest activation

  std::size_t size() const { return layers.size(); }
  void add(std::size_t index, const BarLayer& layer);
};

class StageSearch {
 public:
  /// `others`: a mask of what layers outside the stage do.
  StageSearch(const BarProblem& problem, StageIndex stage, std::size_t begin, std::size_t end,
              const MemoryProbe& probe, const RecomputeMask& others);

  /// Sets the stage's layers of `mask` (none set before) to the least time that fits; false if
  /// nothing does.
  bool choose(RecomputeMask& mask);
  /// The least peak seen: after a failed `choose`, the least there is.
  std::int64_t least_peak_bytes() const { return least_peak_; }

 private:
  std::int64_t peak(const Counts& counts);
  bool fits(const Counts& counts) { return peak(counts) <= limit_; }
  void measure_savings();
  std::size_t estimate_llm(std::size_t vision) const;
  std::optional<std::size_t> least_llm(std::size_t vision);
  std::size_t least_llm_within(std::size_t vision, std::size_t low, std::size_t high);
  std::optional<Counts> least_time();
  void apply(const Counts& counts, RecomputeMask& mask) const;

  const MemoryProbe& probe_;
  StageIndex stage_;
  std::int64_t limit_;
  const RecomputeMask& around_;
  ClassLayers vision_, llm_, other_;
  bool others_recompute_ = false;
  std::int64_t free_bytes_ = 0;     // M_r: below the limit when everything recomputes
  std::int64_t vision_saving_ = 0;  // M_v
  std::int64_t llm_saving_ = 0;     // M_t
  std::int64_t least_peak_ = std::numeric_limits<std::int64_t>::max();
};

}  // namespace omnibal::recompute
