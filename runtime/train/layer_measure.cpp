// SPDX-License-Identifier: Apache-2.0
#include "train/layer_measure.h"

#include <ATen/ops/ones.h>
#include <c10/core/GradMode.h>

#include <time.h>

#include <algorithm>
#include <utility>

#include "omnibal/runtime/layers/own_graph.h"
#include "omnibal/runtime/model/live_bytes.h"

namespace omnibal::runtime {
namespace {

constexpr std::size_t kFewestRuns = 3;
constexpr std::size_t kMostRuns = 25;
constexpr double kEnoughSeconds = 0.3;  // of all runs of one micro-batch

/// Of this thread's processor time, which other programs do not lengthen. All of a layer runs in
/// the calling thread.
double processor_seconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Seconds of `body`.
template <class Body>
double timed(const Body& body) {
  const double began = processor_seconds();
  body();
  return processor_seconds() - began;
}

at::Tensor own_leaf(const at::Tensor& value, bool needs_gradient) {
  return value.defined() ? value.detach().set_requires_grad(needs_gradient) : value;
}

/// The inputs of all layers as the tape keeps them, and the last one's output.
struct Inputs {
  std::vector<at::Tensor> of_layer;
  at::Tensor output;
};

Inputs run_without_graphs(const Stage& stage, const Pass& pass, std::int64_t first_trained,
                          std::vector<LayerMeasure>& layers) {
  const c10::NoGradGuard no_graph;
  Inputs inputs;
  for (std::size_t i = 0; i < stage.layers.size(); ++i) {
    const at::Tensor input = own_leaf(inputs.output, static_cast<std::int64_t>(i) > first_trained);
    layers[i].recompute_s = timed([&] { inputs.output = forward(stage.layers[i], input, pass); });
    layers[i].recomputed_bytes = static_cast<std::int64_t>(
        input.defined() ? input.nbytes() : pass.batch.batch.pixels.nbytes());
    layers[i].boundary_bytes =
        i + 1 < stage.layers.size() ? static_cast<std::int64_t>(inputs.output.nbytes()) : 0;
    inputs.of_layer.push_back(input);
  }
  return inputs;
}

at::Tensor gradient_of_loss(const at::Tensor& loss) { return at::ones({}, loss.options()); }

/// Forward with its graph, and from the output's gradient to that of the input, as the tape runs a
/// layer that recomputes: the input is let go of in between.
void count_layer(const Layer& layer, at::Tensor input, const Pass& pass, at::Tensor& gradient,
                 LiveBytes& live, LayerMeasure& measure) {
  const bool needs_gradient = input.defined() && input.requires_grad();
  const std::int64_t with_input = live.now();
  live.restart_peak();
  GraphStart start;
  GraphEnd end;
  {
    const at::Tensor output =
        forward(layer, start.begin(std::exchange(input, {}), needs_gradient), pass);
    end = GraphEnd(output);
    const std::int64_t kept = live.now() - static_cast<std::int64_t>(output.nbytes());
    measure.activation_bytes = measure.recomputed_bytes + kept - with_input;
  }
  end.backward(gradient);
  measure.transient_bytes = live.peak() - with_input;
  gradient = start.take_gradient();
}

/// One run of all layers.
std::vector<LayerMeasure> run_timed(const Stage& stage, const PreparedBatch& batch,
                                    std::int64_t first_trained) {
  WeightGradients later;
  const Pass pass{batch, nullptr, &later};
  std::vector<LayerMeasure> layers(stage.layers.size());
  const Inputs inputs = run_without_graphs(stage, pass, first_trained, layers);
  std::vector<at::Tensor> outputs(layers.size());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const c10::AutoGradMode mode(static_cast<std::int64_t>(i) >= first_trained);
    layers[i].forward_s =
        timed([&] { outputs[i] = forward(stage.layers[i], inputs.of_layer[i], pass); });
  }
  at::Tensor gradient = gradient_of_loss(inputs.output);
  for (std::size_t i = layers.size(); i-- > static_cast<std::size_t>(first_trained);) {
    layers[i].input_grad_s = timed([&] { outputs[i].backward(gradient); });
    layers[i].weight_grad_s = timed([&] { later.flush(); });
    outputs[i].reset();
    gradient = inputs.of_layer[i].defined() ? inputs.of_layer[i].grad() : at::Tensor();
    if (static_cast<std::int64_t>(i) > first_trained) continue;
    layers[i].weight_grad_s += std::exchange(layers[i].input_grad_s, 0);
  }
  return layers;
}

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace

std::vector<LayerMeasure> count_layer_bytes(const Stage& stage, const PreparedBatch& batch,
                                            std::int64_t first_trained) {
  LiveBytes live;
  const Pass pass{batch};
  std::vector<LayerMeasure> layers(stage.layers.size());
  Inputs inputs = run_without_graphs(stage, pass, first_trained, layers);
  at::Tensor gradient = gradient_of_loss(inputs.output);
  for (std::size_t i = layers.size(); i-- > static_cast<std::size_t>(first_trained);) {
    at::Tensor input = std::exchange(inputs.of_layer[i], {});
    count_layer(stage.layers[i], std::move(input), pass, gradient, live, layers[i]);
  }
  return layers;
}

void time_layers(const Stage& stage, const PreparedBatch& batch, std::int64_t first_trained,
                 std::vector<LayerMeasure>& layers) {
  std::vector<std::vector<LayerMeasure>> runs;
  const double began = processor_seconds();
  while (runs.size() < kFewestRuns ||
         (runs.size() < kMostRuns && processor_seconds() - began < kEnoughSeconds)) {
    runs.push_back(run_timed(stage, batch, first_trained));
  }
  for (double LayerMeasure::*const seconds :
       {&LayerMeasure::forward_s, &LayerMeasure::input_grad_s, &LayerMeasure::weight_grad_s,
        &LayerMeasure::recompute_s}) {
    for (std::size_t i = 0; i < layers.size(); ++i) {
      std::vector<double> values;
      for (const std::vector<LayerMeasure>& run : runs) values.push_back(run[i].*seconds);
      layers[i].*seconds = median_of(std::move(values));
    }
  }
}

}  // namespace omnibal::runtime
