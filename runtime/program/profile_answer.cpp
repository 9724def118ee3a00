// SPDX-License-Identifier: Apache-2.0
#include "program/profile_answer.h"

#include <fmt/format.h>

#include "cli/text_table.h"
#include "omnibal/base/quantity.h"

namespace omnibal::runtime {
namespace {

struct ResidualKey {
  const char* name;
  cost::LinearCost cost::LayerProfile::*cost;
  double LayerResiduals::*residual;
};

constexpr ResidualKey kKeys[] = {
    {"forward_s", &cost::LayerProfile::forward_s, &LayerResiduals::forward_s},
    {"input_grad_s", &cost::LayerProfile::input_grad_s, &LayerResiduals::input_grad_s},
    {"weight_grad_s", &cost::LayerProfile::weight_grad_s, &LayerResiduals::weight_grad_s},
    {"recompute_s", &cost::LayerProfile::recompute_s, &LayerResiduals::recompute_s},
    {"activation_bytes", &cost::LayerProfile::activation_bytes, &LayerResiduals::activation_bytes},
    {"recomputed_bytes", &cost::LayerProfile::recomputed_bytes, &LayerResiduals::recomputed_bytes},
    {"boundary_bytes", &cost::LayerProfile::boundary_bytes, &LayerResiduals::boundary_bytes},
};

codec::Json fit_json(const MeasuredProfile& measured, std::size_t index) {
  const cost::LayerProfile& layer = measured.profile.layers[index];
  codec::Json json = {{"name", layer.name}};
  codec::Json residual = codec::Json::object();
  for (const ResidualKey& key : kKeys) {
    json[key.name] = (layer.*key.cost).at(measured.profile.load);
    residual[key.name] = measured.residuals[index].*key.residual;
  }
  json["residual"] = std::move(residual);
  return json;
}

/// "1.203 (2 %)"
std::string milliseconds(const cost::LinearCost& cost, const cost::Load& load, double residual) {
  return fmt::format("{:.3f} ({:.0f} %)", 1e3 * cost.at(load), 100 * residual);
}

std::string bytes(const cost::LinearCost& cost, const cost::Load& load) {
  return format_bytes(static_cast<std::int64_t>(cost.at(load)));
}

std::vector<std::string> row(const cost::LayerProfile& layer, const LayerResiduals& residuals,
                             const cost::Load& load) {
  return {layer.name,
          milliseconds(layer.forward_s, load, residuals.forward_s),
          milliseconds(layer.input_grad_s, load, residuals.input_grad_s),
          milliseconds(layer.weight_grad_s, load, residuals.weight_grad_s),
          milliseconds(layer.recompute_s, load, residuals.recompute_s),
          fmt::format("{} ({:.0f} %)", bytes(layer.activation_bytes, load),
                      100 * residuals.activation_bytes),
          bytes(layer.recomputed_bytes, load),
          bytes(layer.static_bytes, load),
          bytes(layer.boundary_bytes, load)};
}

}  // namespace

codec::Json to_json(const MeasuredProfile& measured, const std::string& out) {
  const cost::Profile& profile = measured.profile;
  codec::Json json = {{"layers", profile.layers.size()},
                      {"forward_s", cost::total_forward(profile).at(profile.load)},
                      {"out", out},
                      {"packs", measured.packs},
                      {"micro_batches", measured.micro_batches},
                      {"residual", measured.residual},
                      {"fits", codec::Json::array()},
                      {"notes", measured.notes}};
  for (std::size_t i = 0; i < profile.layers.size(); ++i) {
    json["fits"].push_back(fit_json(measured, i));
  }
  return json;
}

std::string to_text(const MeasuredProfile& measured, const std::string& out) {
  const cost::Load& load = measured.profile.load;
  std::vector<std::vector<std::string>> rows{{"layer", "forward ms", "input gradient ms",
                                              "weight gradient ms", "recompute ms", "activations",
                                              "recomputed", "static", "boundary"}};
  for (std::size_t i = 0; i < measured.profile.layers.size(); ++i) {
    rows.push_back(row(measured.profile.layers[i], measured.residuals[i], load));
  }
  std::string text = cli::text_table(rows);
  text += fmt::format(
      "\nat {:.6g} vision units, {:.6g} tokens and {:.6g} token pairs; in brackets how far "
      "measurements lie\nfrom the fit (root mean square; all layers together {:.1f} %); {} packs, "
      "of which {} micro-batches were measured\n",
      load.vision_units, load.tokens, load.token_pairs, 100 * measured.residual, measured.packs,
      measured.micro_batches);
  for (const std::string& note : measured.notes) text += note + "\n";
  return text + fmt::format("written to {}\n", out);
}

}  // namespace omnibal::runtime
