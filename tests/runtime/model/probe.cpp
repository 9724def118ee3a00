// SPDX-License-Identifier: Apache-2.0
//
// Lets tests in Python compare the model's losses and gradients with those of transformers.
//
//   omnibal_model_probe gradients MODEL TYPE RECOMPUTE [deferred] -- BATCH OUT [BATCH OUT]...
//   omnibal_model_probe save MODEL TYPE OUT
//
// TYPE: f32, f64, bf16; RECOMPUTE: none, some, full, attention, mlp,
// attention+mlp. Prints a line a batch: the loss and the peak
// of activation bytes. OUT: the gradients under the names of files.
#include <ATen/Parallel.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros_like.h>
#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "omnibal/runtime/model/tape.h"
#include "omnibal/runtime/model/weights.h"
#include "omnibal/runtime/safetensors/writer.h"
#include "runtime/model/micro_batch_file.h"

namespace omnibal::runtime {
namespace {

using Arguments = std::vector<std::string>;

int report(const Error& error) {
  fmt::print(stderr, "{}\n{}", error_code_info(error.code).name, to_text(error));
  return error_code_info(error.code).exit_code;
}

at::ScalarType type_named(const std::string& name) {
  return name == "f64" ? at::kDouble : name == "bf16" ? at::kBFloat16 : at::kFloat;
}

Result<Stage> load_stage(const std::string& path, at::ScalarType type) {
  OMNIBAL_ASSIGN(const ModelConfig config, read_model_config(path));
  OMNIBAL_ASSIGN(const Weights weights, Weights::open(path));
  Stage stage = make_stage(
      config, {.end = static_cast<std::int64_t>(config.spec.layers.size()), .type = type});
  OMNIBAL_RETURN_IF_ERROR(load_parameters(weights, stage));
  return stage;
}

Result<PreparedBatch> read_batch(const std::string& path, const ModelConfig& config,
                                 at::ScalarType type) {
  OMNIBAL_ASSIGN(MicroBatch batch, read_micro_batch(path));
  return prepare(std::move(batch), config, type);
}

std::vector<Recompute> recomputed(const std::string& choice, std::size_t layers) {
  const std::map<std::string, Recompute> words = {{"full", Recompute::kEverything},
                                                  {"attention", Recompute::kAttention},
                                                  {"mlp", Recompute::kMlp},
                                                  {"attention+mlp", Recompute::kAttentionAndMlp}};
  const auto word = words.find(choice);
  std::vector<Recompute> chosen(layers, word == words.end() ? Recompute::kNothing : word->second);
  for (std::size_t i = 0; choice == "some" && i < layers; i += 2) {
    chosen[i] = Recompute::kEverything;
  }
  return chosen;
}

Status write_gradients(const std::string& path, const Stage& stage) {
  std::vector<at::Tensor> gradients;
  std::vector<TensorView> views;
  for (const Parameter& parameter : stage.parameters) {
    const at::Tensor& gradient = parameter.tensor.grad();
    gradients.push_back(gradient.defined() ? gradient.contiguous()
                                           : at::zeros_like(parameter.tensor.detach()));
    views.push_back(view_of(parameter.name, gradients.back()));
  }
  return write_tensors(path, views, {});
}

struct Options {
  std::string recompute;
  bool deferred = false;
};

Status run_batch(Stage& stage, const std::string& batch_path, const std::string& out,
                 const Options& options) {
  OMNIBAL_ASSIGN(const PreparedBatch batch,
                 read_batch(batch_path, stage.config, stage.options.type));
  for (Parameter& parameter : stage.parameters) parameter.tensor.mutable_grad().reset();
  WeightGradients later;
  const Pass pass{batch, nullptr, options.deferred ? &later : nullptr};
  Tape tape;
  const at::Tensor loss =
      run_forward(stage, {}, pass, recomputed(options.recompute, stage.layers.size()), tape);
  run_backward(stage, at::ones({}, loss.options()), pass, tape);
  later.flush();
  fmt::print("{:.17g}\n", loss.item<double>());
  return write_gradients(out, stage);
}

Status gradients(const Arguments& arguments) {
  OMNIBAL_ASSIGN(Stage stage, load_stage(arguments[1], type_named(arguments[2])));
  const bool deferred = arguments[4] == "deferred";
  const Options options{arguments[3], deferred};
  for (std::size_t i = deferred ? 6 : 5; i + 1 < arguments.size(); i += 2) {
    OMNIBAL_RETURN_IF_ERROR(run_batch(stage, arguments[i], arguments[i + 1], options));
  }
  return {};
}

Status save(const Arguments& arguments) {
  const at::ScalarType type = type_named(arguments[2]);
  OMNIBAL_ASSIGN(const Stage stage, load_stage(arguments[1], type));
  return save_parameters(arguments[3], stage.parameters, type);
}

int run(const Arguments& arguments) {
  at::set_num_threads(1);
  Status status;
  if (arguments.size() >= 6 && arguments[0] == "gradients") {
    status = gradients(arguments);
  } else if (arguments.size() == 4 && arguments[0] == "save") {
    status = save(arguments);
  } else {
    return 2;
  }
  return status.ok() ? 0 : report(status.error());
}

}  // namespace
}  // namespace omnibal::runtime

int main(int argc, char** argv) { return omnibal::runtime::run({argv + 1, argv + argc}); }
