// SPDX-License-Identifier: Apache-2.0
#include "cost/block_operations.h"

#include <initializer_list>

namespace omnibal::cost {
namespace {

using model::AdapterTarget;

/// Numbers that the device holds of an adapter, or multiplies and adds for a token with it.
struct AdapterSizes {
  double in = 0;   // A: rank x in
  double out = 0;  // B: out x rank
};

AdapterSizes adapter_sizes(const BlockSpec& block, AdapterTarget target) {
  const model::LinearWidths widths = model::linear_widths(block.widths, target);
  const double rank = d(block.adapters->rank);
  const double in = rank * d(widths.in);
  const double out = rank * d(widths.out);
  const AttentionShares& shares = block.shares;
  switch (target) {
    case AdapterTarget::kQuery:
      return {in, out * shares.query};
    case AdapterTarget::kKey:
    case AdapterTarget::kValue:
      return {in, out * shares.kv};
    case AdapterTarget::kQueryKeyValue:
      return {in,
              rank * (d(block.widths.query) * shares.query + 2 * d(block.widths.kv) * shares.kv)};
    case AdapterTarget::kOutput:
      return {in * shares.query, out};
    case AdapterTarget::kGate:
    case AdapterTarget::kUp:
      return {in, out / block.tp};
    case AdapterTarget::kDown:
      return {in / block.tp, out};
  }
  return {};
}

/// The adapters of `targets` that the block has, beside one operation.
void add_adapters(const BlockSpec& block, std::initializer_list<AdapterTarget> targets,
                  Operation& operation) {
  for (const AdapterTarget target : targets) {
    if (!block.adapters->on(target)) continue;
    const AdapterSizes sizes = adapter_sizes(block, target);
    operation.adapter_in_flops += 2 * sizes.in * block.tokens;
    operation.adapter_out_flops += 2 * sizes.out * block.tokens;
    operation.adapter_bytes += kBf16 * d(block.adapters->rank) * block.tokens;
  }
}

/// A number a channel: its gradient needs what it multiplies, which no region rebuilds.
void add_layer_scale(const BlockSpec& block, const LinearCost& input,
                     std::vector<Operation>& operations) {
  if (!block.layer_scale) return;
  operations.push_back(
      {.flops = {}, .trains = block.trains, .kept_bytes = input, .kept_for = KeptFor::kWeights});
}

void add_attention(const BlockSpec& block, std::vector<Operation>& operations) {
  const AttentionShares& shares = block.shares;
  const double width = d(block.widths.width);
  const double query = d(block.widths.query) * shares.query;
  const double kv = d(block.widths.kv) * shares.kv;
  const LinearCost outside = kBf16 * width * shares.outside * block.tokens;
  operations.push_back({.flops = {}, .trains = block.trains, .kept_bytes = outside});  // norm
  Operation inputs{.flops = (2 * width * query + 4 * width * kv) * block.tokens,
                   .trains = block.trains,
                   .kept_bytes = outside,
                   .kept_for = KeptFor::kWeights,
                   .region = Region::kAttention,
                   .reruns = true};
  add_adapters(block,
               {AdapterTarget::kQuery, AdapterTarget::kKey, AdapterTarget::kValue,
                AdapterTarget::kQueryKeyValue},
               inputs);
  operations.push_back(inputs);
  if (block.qk_norm) {
    operations.push_back({.flops = {},
                          .trains = block.trains,
                          .kept_bytes = kBf16 * (query + kv) * block.tokens,
                          .region = Region::kAttention,
                          .reruns = true});
  }
  // Attention keeps q, k, v and its output; both of its products have two gradients each.
  operations.push_back({.flops = block.score_flops,
                        .input_gradient = 2,
                        .kept_bytes = 2 * kBf16 * (query + kv) * block.tokens,
                        .region = Region::kAttention,
                        .reruns = true});
  Operation output{.flops = 2 * width * query * block.tokens,
                   .trains = block.trains,
                   .kept_bytes = kBf16 * query * block.tokens,
                   .kept_for = KeptFor::kWeightsUnlessShared,
                   .output_bytes = (block.dropout ? 1 : 0) * width * shares.outside * block.tokens};
  add_adapters(block, {AdapterTarget::kOutput}, output);
  operations.push_back(output);
  add_layer_scale(block, outside, operations);
}

void add_mlp(const BlockSpec& block, std::vector<Operation>& operations) {
  const double width = d(block.widths.width) / block.tp;
  const double mlp = d(block.widths.mlp);
  const double inputs = block.gated ? 2 : 1;  // gate and up
  operations.push_back(
      {.flops = {}, .trains = block.trains, .kept_bytes = kBf16 * width * block.tokens});  // norm
  Operation up{.flops = inputs * 2 * width * mlp * block.tokens,
               .trains = block.trains,
               .kept_bytes = kBf16 * width * block.tokens,
               .kept_for = KeptFor::kWeights,
               .region = Region::kMlp,
               .reruns = true};
  add_adapters(block, {AdapterTarget::kGate, AdapterTarget::kUp}, up);
  operations.push_back(up);
  operations.push_back({.flops = {},  // activation function, product with the gate
                        .kept_bytes = kBf16 * inputs * mlp / block.tp * block.tokens,
                        .region = Region::kMlp,
                        .reruns = true});
  Operation down{.flops = 2 * mlp * width * block.tokens,
                 .trains = block.trains,
                 .kept_bytes = kBf16 * mlp / block.tp * block.tokens,
                 .kept_for = KeptFor::kWeights,
                 .output_bytes = (block.dropout ? 1 : 0) * width * block.tokens,
                 .region = Region::kMlp};
  add_adapters(block, {AdapterTarget::kDown}, down);
  operations.push_back(down);
  add_layer_scale(block, kBf16 * width * block.tokens, operations);
}

}  // namespace

std::vector<Operation> block_operations(const BlockSpec& block) {
  std::vector<Operation> operations;
  add_attention(block, operations);
  add_mlp(block, operations);
  return operations;
}

double device_adapter_parameters(const BlockSpec& block) {
  double sum = 0;
  for (const AdapterTarget target : block.adapters->targets) {
    const AdapterSizes sizes = adapter_sizes(block, target);
    sum += sizes.in + sizes.out;
  }
  return sum;
}

}  // namespace omnibal::cost
