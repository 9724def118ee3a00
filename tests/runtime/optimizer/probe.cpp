// SPDX-License-Identifier: Apache-2.0
//
// Runs the optimizer over gradients that a test in Python gives, so that it can compare with
// torch.optim.AdamW, clip_grad_norm_ and the schedules of transformers.
//
//   omnibal_optimizer_probe IN.safetensors OUT.safetensors RANKS SHAPE WARMUP STEPS LR DECAY CLIP
//   omnibal_optimizer_probe decays < NAMES
//
// IN: tensors "weight/NAME" and "gradient/STEP/SAMPLE/NAME"; a sample's gradients go to rank
// SAMPLE mod RANKS. OUT: "weight/NAME" after STEPS steps, "norms".
#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#include "omnibal/runtime/comm/thread_ranks.h"
#include "omnibal/runtime/optimizer/optimizer.h"
#include "omnibal/runtime/safetensors/reader.h"
#include "omnibal/runtime/safetensors/writer.h"

namespace omnibal::runtime {
namespace {

struct Arguments {
  std::string in, out;
  int num_ranks = 1;
  OptimizerOptions options;
  GroupRules rules;
};

at::Tensor to_torch(const TensorView& view) {
  const at::Tensor tensor =
      at::empty(view.shape, at::dtype(view.dtype == DType::kF64 ? at::kDouble : at::kFloat));
  std::memcpy(tensor.mutable_data_ptr(), view.bytes.data(), view.bytes.size());
  return tensor;
}

TensorView to_view(const std::string& name, const at::Tensor& tensor) {
  return {name,
          tensor.scalar_type() == at::kDouble ? DType::kF64 : DType::kF32,
          tensor.sizes().vec(),
          {static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()}};
}

std::vector<std::string> names_of(const TensorFile& file) {
  std::vector<std::string> names;
  for (const TensorView& view : file.tensors()) {
    if (view.name.starts_with("weight/")) names.push_back(view.name.substr(7));
  }
  return names;
}

Result<std::vector<TrainedParameter>> parameters_of(const TensorFile& file, Arguments& arguments) {
  const std::vector<std::string> names = names_of(file);
  OMNIBAL_ASSIGN(const ParameterGroups groups, group_parameters(names, arguments.rules));
  arguments.options.groups = groups.settings;
  std::vector<TrainedParameter> parameters;
  for (std::size_t i = 0; i < names.size(); ++i) {
    OMNIBAL_ASSIGN(const TensorView weight, file.find("weight/" + names[i]));
    TrainedParameter parameter;
    parameter.name = names[i];
    parameter.tensor = to_torch(weight).set_requires_grad(true);
    parameter.group = *groups.of_parameter[i];
    parameter.counted = {{0, parameter.tensor.numel()}};
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

void add_gradients(const TensorFile& file, const std::vector<TrainedParameter>& parameters,
                   std::int64_t step, const Communicator& world) {
  const std::string prefix = fmt::format("gradient/{}/", step);
  for (const TensorView& view : file.tensors()) {
    if (!view.name.starts_with(prefix)) continue;
    const int sample = std::atoi(view.name.c_str() + prefix.size());
    if (sample % world.size() != world.rank()) continue;
    const std::string name = view.name.substr(view.name.find('/', prefix.size()) + 1);
    for (const TrainedParameter& parameter : parameters) {
      if (parameter.name == name) parameter.tensor.mutable_grad().add_(to_torch(view));
    }
  }
}

Status write_result(const std::string& path, const std::vector<TrainedParameter>& parameters,
                    const std::vector<double>& norms) {
  std::vector<TensorView> views;
  for (const TrainedParameter& parameter : parameters) {
    views.push_back(to_view("weight/" + parameter.name, parameter.tensor));
  }
  views.push_back({"norms",
                   DType::kF64,
                   {static_cast<std::int64_t>(norms.size())},
                   std::as_bytes(std::span(norms))});
  return write_tensors(path, views, {});
}

Status run(Communicator& world, Arguments arguments) {
  OMNIBAL_ASSIGN(const TensorFile file, TensorFile::open(arguments.in));
  OMNIBAL_ASSIGN(const auto parameters, parameters_of(file, arguments));
  OMNIBAL_ASSIGN(auto optimizer, Optimizer::make(parameters, arguments.options, world, world));
  std::vector<double> norms;
  for (std::int64_t step = 0; step < arguments.options.schedule.num_steps; ++step) {
    optimizer->begin_step(0);
    add_gradients(file, parameters, step, world);
    OMNIBAL_ASSIGN(const StepReport report, optimizer->finish_step(0.25));
    norms.push_back(report.gradient_norm);
  }
  if (world.rank() > 0) return {};
  return write_result(arguments.out, parameters, norms);
}

Arguments parse(char** argv) {
  Arguments arguments;
  arguments.in = argv[1];
  arguments.out = argv[2];
  arguments.num_ranks = std::atoi(argv[3]);
  const std::string shape = argv[4];
  arguments.options.schedule = {.shape = shape == "cosine"   ? ScheduleShape::kCosine
                                         : shape == "linear" ? ScheduleShape::kLinear
                                                             : ScheduleShape::kConstant,
                                .num_warmup = std::atoll(argv[5]),
                                .num_steps = std::atoll(argv[6])};
  arguments.rules.lr = std::atof(argv[7]);
  arguments.rules.weight_decay = std::atof(argv[8]);
  arguments.options.max_norm = std::atof(argv[9]);
  arguments.options.bucket_size = 100;
  return arguments;
}

void print_decaying() {
  for (std::string name; std::getline(std::cin, name);) {
    if (decays(name)) fmt::print("{}\n", name);
  }
}

}  // namespace
}  // namespace omnibal::runtime

int main(int argc, char** argv) {
  using namespace omnibal;
  if (argc == 2 && std::string(argv[1]) == "decays") {
    runtime::print_decaying();
    return 0;
  }
  if (argc != 10) return 2;
  const runtime::Arguments arguments = runtime::parse(argv);
  const Status status = runtime::run_thread_ranks(
      arguments.num_ranks,
      [&](runtime::Communicator& world) { return runtime::run(world, arguments); });
  if (status) return 0;
  fmt::print(stderr, "{}", to_text(status.error()));
  return 1;
}
