// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "cli/options/model_flags.h"
#include "cli/text_table.h"
#include "omnibal/base/quantity.h"
#include "omnibal/cost/analytic.h"

namespace omnibal::cli {
namespace {

struct ProfileOptions {
  ModelFlags model;
  std::int64_t tp = 1;
  std::int64_t dp = 1;
  std::int64_t vision_units = 9;
  std::int64_t tokens = 4096;
  std::optional<std::int64_t> token_pairs;
  std::string out;
};

Result<cost::Profile> make_profile(const ProfileOptions& options) {
  OMNIBAL_ASSIGN(const model::ModelSpec model, load_model(options.model));
  OMNIBAL_ASSIGN(const cluster::ClusterSpec cluster, cluster::load_cluster(options.model.cluster));
  const cluster::ParallelSizes sizes{.tp = options.tp, .pp = 1, .dp = options.dp};
  OMNIBAL_RETURN_IF_ERROR(cluster::check_sizes(sizes, sizes.gpus(), cluster));
  const std::int64_t pairs = options.token_pairs.value_or(options.tokens * options.tokens);
  return cost::analytic_profile(
      model, cluster,
      {.tp = options.tp,
       .dp = options.dp,
       .heads = head_policy(options.model),
       .load = {static_cast<double>(options.vision_units), static_cast<double>(options.tokens),
                static_cast<double>(pairs)}});
}

bool same_costs(const cost::LayerCost& a, const cost::LayerCost& b) {
  return a.forward_s == b.forward_s && a.backward_s() == b.backward_s() &&
         a.activation_bytes == b.activation_bytes && a.recomputed_bytes == b.recomputed_bytes &&
         a.static_bytes == b.static_bytes && a.boundary_bytes == b.boundary_bytes;
}

std::vector<std::string> table_row(const std::string& name, std::size_t count,
                                   const cost::LayerCost& cost) {
  return {name,
          fmt::format("{}", count),
          fmt::format("{:.3f}", cost.forward_s * 1e3),
          fmt::format("{:.3f}", cost.backward_s() * 1e3),
          format_bytes(cost.activation_bytes),
          format_bytes(cost.recomputed_bytes),
          format_bytes(cost.static_bytes),
          format_bytes(cost.boundary_bytes)};
}

/// A line for each run of layers that cost the same.
std::string layers_table(const cost::Profile& profile) {
  const std::vector<cost::LayerCost> costs = cost::evaluate(profile, profile.load);
  std::vector<std::vector<std::string>> rows{{"layers", "count", "forward ms", "backward ms",
                                              "activations", "recomputed", "static", "boundary"}};
  for (std::size_t begin = 0; begin < costs.size();) {
    std::size_t end = begin + 1;
    while (end < costs.size() && same_costs(costs[begin], costs[end])) ++end;
    const std::string& first = profile.layers[begin].name;
    const std::string& last = profile.layers[end - 1].name;
    const std::string name = end - begin == 1 ? first : fmt::format("{} .. {}", first, last);
    rows.push_back(table_row(name, end - begin, costs[begin]));
    begin = end;
  }
  return text_table(rows);
}

Result<Output> run_profile(const ProfileOptions& options) {
  OMNIBAL_ASSIGN(const cost::Profile profile, make_profile(options));
  OMNIBAL_RETURN_IF_ERROR(cost::write_profile(profile, options.out));
  const double forward_s = cost::total_forward(profile).at(profile.load);
  Output output;
  output.json["layers"] = profile.layers.size();
  output.json["forward_s"] = forward_s;
  output.json["out"] = options.out;
  output.text = fmt::format(
      "{}\n{} layers on one device of tp {}, a micro-batch of {} vision units, {} tokens and {} "
      "token pairs: forward {}\nwritten to {}\n",
      layers_table(profile), profile.layers.size(), options.tp, profile.load.vision_units,
      profile.load.tokens, profile.load.token_pairs, format_seconds(forward_s), options.out);
  return output;
}

std::vector<Flag> sizes_flags(ProfileOptions& options) {
  return {
      count_flag("--tp", &options.tp, "Devices that share each layer (tensor parallelism)"),
      count_flag("--dp", &options.dp, "Data-parallel ranks, which share the optimizer's states")};
}

std::vector<Flag> load_flags(ProfileOptions& options) {
  return {{.name = "--vision-units",
           .target = &options.vision_units,
           .help = "Vision units of the reference micro-batch",
           .value_name = "N",
           .min = 0,
           .max = 1000000},
          {.name = "--tokens",
           .target = &options.tokens,
           .help = "Tokens of the reference micro-batch",
           .value_name = "N",
           .min = 0,
           .max = 100000000},
          {.name = "--token-pairs",
           .target = &options.token_pairs,
           .help = "Sum of its squared segment lengths [default: one segment, tokens squared]",
           .value_name = "N",
           .min = 0,
           .max = 10000000000000000}};
}

std::vector<Flag> profile_flags(ProfileOptions& options) {
  return joined({model_flags(options.model),
                 sizes_flags(options),
                 load_flags(options),
                 {{.name = "--out",
                   .target = &options.out,
                   .help = "Where to write the profile",
                   .value_name = "FILE",
                   .required = true}}});
}

}  // namespace

Command make_profile_command() {
  auto options = std::make_shared<ProfileOptions>();
  return {
      .name = "profile",
      .summary = "Model the time and memory of every layer on a cluster",
      .description =
          "Writes a profile: forward, gradient and recompute seconds of every layer on one device, "
          "and its activation, static and boundary bytes, as linear functions of a micro-batch's "
          "vision units, tokens and token pairs. The formulas and their sources are in "
          "docs/methods/cost.md. `omnibal partition` and `omnibal plan` take the file, or a "
          "measured one of the same form (docs/formats/profile.md).",
      .example =
          "omnibal profile --model internvl-chat-1.5-26b --cluster a100-80g --tp 2 --dp 8 "
          "--out profile.json\n"
          "omnibal profile --model config.json --cluster h200 --freeze vision --out p.json",
      .flags = profile_flags(*options),
      .run = [options](const Context&) { return run_profile(*options); }};
}

}  // namespace omnibal::cli
