// SPDX-License-Identifier: Apache-2.0
//
// The trainer's side of the bench: steps of one rank, one a line of standard input, which names a
// file of a micro-batch. Answers with loss, wall seconds and processor seconds.
//
//   bench_training_speed MODEL_DIRECTORY fp32|bf16
#include <ATen/Parallel.h>
#include <ATen/ops/ones.h>
#include <fmt/format.h>
#include <time.h>

#include <cstdio>
#include <iostream>
#include <string>

#include "omnibal/runtime/comm/thread_ranks.h"
#include "omnibal/runtime/model/live_bytes.h"
#include "omnibal/runtime/model/tape.h"
#include "omnibal/runtime/model/weights.h"
#include "omnibal/runtime/optimizer/optimizer.h"
#include "omnibal/runtime/train/freed_memory.h"
#include "omnibal/runtime/train/trained_parameters.h"
#include "runtime/model/micro_batch_file.h"

namespace omnibal::runtime {
namespace {

double seconds(clockid_t clock) {
  timespec now = {};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Forward, backward and the optimizer's step; the loss.
Result<double> run_step(const Stage& stage, Optimizer& optimizer, const MicroBatch& batch) {
  const LiveBytes live;  // as the trainer, which counts them in every step
  optimizer.begin_step(1);
  OMNIBAL_ASSIGN(const PreparedBatch prepared, prepare(batch, stage.config, stage.options.type));
  const Pass pass{prepared};
  Tape tape;
  const std::vector<Recompute> recompute(stage.layers.size(), Recompute::kNothing);
  const at::Tensor loss = run_forward(stage, {}, pass, recompute, tape);
  run_backward(stage, at::ones({}, loss.options()), pass, tape);
  OMNIBAL_RETURN_IF_ERROR(optimizer.finish_step(1.0));
  return loss.item<double>();
}

Status run_steps(const std::string& model, bool half) {
  at::set_num_threads(1);
  OMNIBAL_ASSIGN(const ModelConfig config, read_model_config(model));
  const auto layers = static_cast<std::int64_t>(config.spec.layers.size());
  Stage stage = make_stage(config, {.end = layers, .type = half ? at::kBFloat16 : at::kFloat});
  OMNIBAL_ASSIGN(const Weights weights, Weights::open(model));
  OMNIBAL_RETURN_IF_ERROR(load_parameters(weights, stage));
  OMNIBAL_ASSIGN(TrainedStage trained, trained_parameters(stage.parameters, {.lr = 1e-5}, {}));
  const auto world = make_thread_world(1);
  OMNIBAL_ASSIGN(const std::unique_ptr<Optimizer> optimizer,
                 Optimizer::make(std::move(trained.parameters),
                                 {.groups = std::move(trained.groups),
                                  .schedule = {.shape = ScheduleShape::kConstant},
                                  .max_norm = 0},
                                 *world.front(), *world.front()));
  for (std::string path; std::getline(std::cin, path);) {
    OMNIBAL_ASSIGN(const MicroBatch batch, read_micro_batch(path));
    const double wall = seconds(CLOCK_MONOTONIC);
    const double processor = seconds(CLOCK_PROCESS_CPUTIME_ID);
    OMNIBAL_ASSIGN(const double loss, run_step(stage, *optimizer, batch));
    fmt::print("{} {} {}\n", loss, seconds(CLOCK_MONOTONIC) - wall,
               seconds(CLOCK_PROCESS_CPUTIME_ID) - processor);
    std::fflush(stdout);
  }
  return {};
}

}  // namespace
}  // namespace omnibal::runtime

int main(int argc, char** argv) {
  omnibal::runtime::keep_freed_memory();
  if (argc != 3) return 2;
  const omnibal::Status status =
      omnibal::runtime::run_steps(argv[1], std::string(argv[2]) == "bf16");
  if (status.ok()) return 0;
  fmt::print(stderr, "{}", to_text(status.error()));
  return 1;
}
