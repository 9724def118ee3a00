// SPDX-License-Identifier: Apache-2.0
#include "train/measured_profile.h"

#include <cmath>

#include "omnibal/cost/linear_fit.h"

namespace omnibal::runtime {
namespace {

using model::LayerKind;

/// A layer's measure, its cost in the profile, and the residual of the fit between them.
template <class Value>
struct FittedKey {
  Value LayerMeasure::*measure;
  cost::LinearCost cost::LayerProfile::*cost;
  double LayerResiduals::*residual;
};

constexpr FittedKey<double> kSeconds[] = {
    {&LayerMeasure::forward_s, &cost::LayerProfile::forward_s, &LayerResiduals::forward_s},
    {&LayerMeasure::input_grad_s, &cost::LayerProfile::input_grad_s, &LayerResiduals::input_grad_s},
    {&LayerMeasure::weight_grad_s, &cost::LayerProfile::weight_grad_s,
     &LayerResiduals::weight_grad_s},
    {&LayerMeasure::recompute_s, &cost::LayerProfile::recompute_s, &LayerResiduals::recompute_s},
};

constexpr FittedKey<std::int64_t> kBytes[] = {
    {&LayerMeasure::activation_bytes, &cost::LayerProfile::activation_bytes,
     &LayerResiduals::activation_bytes},
    {&LayerMeasure::recomputed_bytes, &cost::LayerProfile::recomputed_bytes,
     &LayerResiduals::recomputed_bytes},
    {&LayerMeasure::boundary_bytes, &cost::LayerProfile::boundary_bytes,
     &LayerResiduals::boundary_bytes},
};

cost::FitTerms terms_of(LayerKind kind) {
  switch (kind) {
    case LayerKind::kPatchEmbedding:
    case LayerKind::kVisionBlock:
    case LayerKind::kProjector:
      return {.vision_unit = true};
    case LayerKind::kTokenEmbedding:
      return {.vision_unit = true, .token = true};
    case LayerKind::kLlmBlock:
      return {.token = true, .token_pair = true};
    case LayerKind::kHead:
      break;
  }
  return {.token = true};
}

std::vector<cost::Load> loads_of(const std::vector<BatchMeasure>& measures) {
  std::vector<cost::Load> loads;
  for (const BatchMeasure& measure : measures) loads.push_back(measure.load);
  return loads;
}

template <class Value>
cost::LinearFit fit_key(const std::vector<BatchMeasure>& measures, std::size_t layer,
                        Value LayerMeasure::*key, const cost::FitTerms& terms) {
  std::vector<double> values;
  for (const BatchMeasure& measure : measures) {
    values.push_back(static_cast<double>(measure.layers[layer].*key));
  }
  return cost::fit_linear_cost(loads_of(measures), values, terms);
}

/// Of forward and backward of all layers together.
double total_residual(const cost::Profile& profile, const std::vector<BatchMeasure>& measures) {
  double missed = 0, squares = 0;
  for (const BatchMeasure& measure : measures) {
    double measured = 0, fitted = 0;
    for (std::size_t i = 0; i < profile.layers.size(); ++i) {
      const cost::LayerProfile& layer = profile.layers[i];
      const LayerMeasure& seconds = measure.layers[i];
      measured += seconds.forward_s + seconds.input_grad_s + seconds.weight_grad_s;
      fitted += layer.forward_s.at(measure.load) + layer.input_grad_s.at(measure.load) +
                layer.weight_grad_s.at(measure.load);
    }
    missed += (measured - fitted) * (measured - fitted);
    squares += measured * measured;
  }
  return squares > 0 ? std::sqrt(missed / squares) : 0;
}

}  // namespace

MeasuredProfile fit_profile(const model::ModelSpec& model,
                            const std::vector<BatchMeasure>& measures) {
  MeasuredProfile result;
  result.profile.source = "measured";
  result.micro_batches = static_cast<std::int64_t>(measures.size());
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    cost::LayerProfile& layer = result.profile.layers.emplace_back();
    LayerResiduals& residuals = result.residuals.emplace_back();
    layer.name = model.layers[i].name;
    layer.kind = model.layers[i].kind;
    const cost::FitTerms terms = terms_of(model.layers[i].kind);
    for (const auto& key : kSeconds) {
      const cost::LinearFit fit = fit_key(measures, i, key.measure, terms);
      layer.*key.cost = fit.cost;
      residuals.*key.residual = fit.residual;
    }
    for (const auto& key : kBytes) {
      const cost::LinearFit fit = fit_key(measures, i, key.measure, terms);
      layer.*key.cost = fit.cost;
      residuals.*key.residual = fit.residual;
    }
    const cost::LinearFit transient = fit_key(measures, i, &LayerMeasure::transient_bytes, terms);
    layer.transient_bytes = transient.cost;
    residuals.transient_bytes = transient.residual;
  }
  result.residual = total_residual(result.profile, measures);
  return result;
}

}  // namespace omnibal::runtime
