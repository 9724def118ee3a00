// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <set>

#include "omnibal/simulate/zero3.h"
#include "simulate/state_bytes.h"

namespace omnibal::simulate {
namespace {

constexpr double kStateBytes = 18;  // weight 2, fp32 gradient 4, master weight 4, two moments 8

std::int64_t whole(double bytes) { return std::llround(bytes); }

class Zero3Memory {
 public:
  Zero3Memory(const Zero3Case& zero3, const Zero3Program& program, const cost::Load& load)
      : zero3_(zero3), program_(program), layers_(cost::evaluate(zero3.profile, load)) {}

  std::int64_t peak() const {
    std::int64_t kept = 0;
    std::int64_t peak = 0;
    for (std::size_t i = 0; i < program_.operations.size(); ++i) {
      const auto layer = static_cast<std::size_t>(program_.operations[i].layer);
      if (!program_.operations[i].backward) kept += kept_by(layer);
      const std::int64_t transient = recomputes(layer) ? layers_[layer].transient() : 0;
      peak = std::max(peak, kept + transient + whole(parameter_bytes(i)));
      if (program_.operations[i].backward) kept -= kept_by(layer);
    }
    return peak + whole(states());
  }

 private:
  bool recomputes(std::size_t layer) const {
    return !zero3_.recompute.empty() && zero3_.recompute[layer];
  }
  std::int64_t kept_by(std::size_t layer) const {
    return recomputes(layer) ? layers_[layer].recomputed_bytes : layers_[layer].activation_bytes;
  }
  const cost::LayerProfile& layer(std::int32_t index) const {
    return zero3_.profile.layers[static_cast<std::size_t>(index)];
  }
  double states() const {
    double bytes = 0;
    for (const cost::LayerProfile& layer : zero3_.profile.layers) {
      const double trained = layer.trained_parameters();
      bytes += trained * kStateBytes + (layer.parameters - trained) * kWeightBytes;
    }
    return bytes / static_cast<double>(zero3_.tp * zero3_.num_ranks);
  }
  /// Whole weights and gradients while operation i runs.
  double parameter_bytes(std::size_t i) const {
    const auto& operations = program_.operations;
    std::set<std::int32_t> gathered;
    const std::size_t end =
        std::min(operations.size(), i + 1 + static_cast<std::size_t>(program_.prefetch));
    for (std::size_t j = i; j < end; ++j) gathered.insert(operations[j].layer);
    double bytes = 0;
    for (const std::int32_t index : gathered) bytes += kWeightBytes * layer(index).parameters;
    for (std::size_t j = i > 0 ? i - 1 : 0; j <= i; ++j) {
      if (operations[j].reduces) {
        bytes += kBf16GradientBytes * layer(operations[j].layer).trained_parameters();
      }
    }
    return bytes / static_cast<double>(zero3_.tp);
  }

  const Zero3Case& zero3_;
  const Zero3Program& program_;
  std::vector<cost::LayerCost> layers_;
};

}  // namespace

std::int64_t zero3_peak_bytes(const Zero3Case& zero3, const Zero3Program& program,
                              const cost::Load& load) {
  return Zero3Memory(zero3, program, load).peak();
}

}  // namespace omnibal::simulate
