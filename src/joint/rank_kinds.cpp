// SPDX-License-Identifier: Apache-2.0
#include "joint/rank_kinds.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

namespace omnibal::joint {
namespace {

/// Tolerances of near kinds where more kinds than these few differ; the first that leaves so few.
constexpr std::array kTolerances = {1.0 / 256, 1.0 / 64, 1.0 / 16, 1.0 / 4};
constexpr std::size_t kFewKinds = 8;

void sort_by_saving(std::vector<RankOption>& options) {
  std::ranges::stable_sort(options, [](const RankOption& a, const RankOption& b) {
    return std::tie(b.saving, a.cost) < std::tie(a.saving, b.cost);
  });
}

/// In the order of the layer's choices.
std::vector<RankOption> options_by_choice(const JointLayer& layer, const TickScale& scale) {
  std::vector<RankOption> options;
  for (std::size_t c = 0; c < layer.choices.size(); ++c) {
    const std::int64_t saving = layer.activation_bytes - layer.choices[c].kept_bytes;
    if (saving <= 0) continue;
    options.push_back({saving, scale.ticks(layer.choices[c].recompute_s),
                       transient_bytes(layer, layer.choices[c]), static_cast<std::int32_t>(c) + 1});
  }
  return options;
}

bool is_near(std::int64_t a, std::int64_t b, double tolerance) {
  return static_cast<double>(std::abs(a - b)) <=
         tolerance * static_cast<double>(std::max(std::abs(a), std::abs(b)));
}

bool are_near(const std::vector<RankOption>& some, const std::vector<RankOption>& others,
              double tolerance) {
  return std::ranges::equal(some, others, [&](const RankOption& a, const RankOption& b) {
    return a.choice == b.choice && is_near(a.saving, b.saving, tolerance) &&
           is_near(a.cost, b.cost, tolerance) && is_near(a.transient, b.transient, tolerance);
  });
}

std::vector<SavingStep> saving_steps(std::vector<RankOption> options) {
  std::ranges::stable_sort(options, {}, &RankOption::transient);
  std::vector<SavingStep> steps;
  std::int64_t saved = 0;
  for (const RankOption& option : options) {
    if (option.saving <= saved) continue;
    steps.push_back({option.transient, option.saving - saved});
    saved = option.saving;
  }
  return steps;
}

/// Layers of a kind while they are gathered.
struct Gathered {
  std::vector<RankOption> first;   // options of the first layer
  std::vector<RankOption> merged;  // costs are sums
  std::vector<std::int32_t> layers;

  void add(const std::vector<RankOption>& options, std::int32_t layer) {
    layers.push_back(layer);
    for (std::size_t o = 0; o < options.size(); ++o) {
      merged[o].saving = std::min(merged[o].saving, options[o].saving);
      merged[o].transient = std::max(merged[o].transient, options[o].transient);
      merged[o].cost += options[o].cost;
    }
  }

  RankKind kind() && {
    for (RankOption& option : merged) option.cost /= static_cast<Ticks>(layers.size());
    sort_by_saving(merged);
    std::vector<SavingStep> steps = saving_steps(merged);
    return {std::move(merged), std::move(steps), std::move(layers)};
  }
};

template <class Get>
double mean_of(std::span<const JointLayer> layers, const std::vector<std::int32_t>& which,
               const Get& get) {
  double sum = 0;
  for (const std::int32_t i : which) sum += get(layers[static_cast<std::size_t>(i)]);
  return sum / static_cast<double>(which.size());
}

template <class Get>
std::int64_t most_of(std::span<const JointLayer> layers, const std::vector<std::int32_t>& which,
                     const Get& get) {
  std::int64_t most = 0;
  for (const std::int32_t i : which)
    most = std::max(most, get(layers[static_cast<std::size_t>(i)]));
  return most;
}

JointLayer typical_layer(std::span<const JointLayer> layers,
                         const std::vector<std::int32_t>& which) {
  JointLayer mean = layers[static_cast<std::size_t>(which.front())];
  const auto seconds = [&](double JointLayer::*field) {
    mean.*field = mean_of(layers, which, [&](const JointLayer& l) { return l.*field; });
  };
  const auto bytes = [&](std::int64_t JointLayer::*field) {
    mean.*field = most_of(layers, which, [&](const JointLayer& l) { return l.*field; });
  };
  seconds(&JointLayer::forward_s);
  seconds(&JointLayer::backward_s);
  seconds(&JointLayer::weight_grad_s);
  bytes(&JointLayer::static_bytes);
  bytes(&JointLayer::activation_bytes);
  bytes(&JointLayer::weight_grad_bytes);
  for (std::size_t c = 0; c < mean.choices.size(); ++c) {
    RecomputeChoice& choice = mean.choices[c];
    choice.recompute_s =
        mean_of(layers, which, [&](const JointLayer& l) { return l.choices[c].recompute_s; });
    choice.kept_bytes =
        most_of(layers, which, [&](const JointLayer& l) { return l.choices[c].kept_bytes; });
    choice.transient_bytes = most_of(
        layers, which, [&](const JointLayer& l) { return transient_bytes(l, l.choices[c]); });
  }
  return mean;
}

}  // namespace

std::vector<RankOption> rank_options(const JointLayer& layer, const TickScale& scale) {
  std::vector<RankOption> options = options_by_choice(layer, scale);
  sort_by_saving(options);
  return options;
}

std::vector<RankOption> useful_options(const RankKind& kind, std::int64_t transient) {
  std::vector<RankOption> useful;
  for (const RankOption& option : kind.options) {  // later ones must be cheaper
    if (option.transient > transient) continue;
    if (useful.empty() || option.cost < useful.back().cost) useful.push_back(option);
  }
  return useful;
}

RankKinds::RankKinds(std::span<const JointLayer> layers, const TickScale& scale, double tolerance) {
  std::vector<Gathered> gathered;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::vector<RankOption> options = options_by_choice(layers[i], scale);
    if (options.empty()) continue;
    const auto layer = static_cast<std::int32_t>(i);
    const auto known = std::ranges::find_if(
        gathered, [&](const Gathered& some) { return are_near(some.first, options, tolerance); });
    if (known != gathered.end()) {
      known->add(options, layer);
    } else {
      gathered.push_back({options, options, {layer}});
    }
  }
  for (Gathered& some : gathered) kinds_.push_back(std::move(some).kind());
  sum_up(layers.size());
}

void RankKinds::sum_up(std::size_t num_layers) {
  before_.assign((num_layers + 1) * kinds_.size(), 0);
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    for (const std::int32_t layer : kinds_[k].layers) {
      before_[(static_cast<std::size_t>(layer) + 1) * kinds_.size() + k] = 1;
    }
  }
  for (std::size_t i = kinds_.size(); i < before_.size(); ++i) {
    before_[i] += before_[i - kinds_.size()];
  }
}

RankKinds near_kinds(std::span<const JointLayer> layers, const TickScale& scale) {
  RankKinds kinds(layers, scale, 0);
  for (const double tolerance : kTolerances) {
    if (kinds.size() <= kFewKinds) break;
    kinds = RankKinds(layers, scale, tolerance);
  }
  return kinds;
}

std::vector<JointLayer> typical_layers(std::span<const JointLayer> layers, const TickScale& scale) {
  std::vector<JointLayer> means(layers.begin(), layers.end());
  const RankKinds kinds = near_kinds(layers, scale);
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    const JointLayer typical = typical_layer(layers, kinds[k].layers);
    for (const std::int32_t i : kinds[k].layers) means[static_cast<std::size_t>(i)] = typical;
  }
  return means;
}

}  // namespace omnibal::joint
