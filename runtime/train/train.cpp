// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/train/train.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <exception>
#include <filesystem>

#include "omnibal/runtime/model/live_bytes.h"
#include "train/agreement.h"
#include "train/export_model.h"
#include "train/training.h"

namespace omnibal::runtime {
namespace {

using Clock = std::chrono::steady_clock;

/// What one rank of each replica adds, so that the sum over the world counts each pack once.
std::array<double, 5> own_sums(const Training& training, double loss) {
  const bool speaks = training.groups.tp->rank() == 0;
  const PackTotals& packs = training.batches->totals();
  if (!speaks) return {};
  if (training.groups.pp->rank() > 0) return {loss};
  return {loss, packs.weight, static_cast<double>(packs.tokens),
          static_cast<double>(packs.supervised), static_cast<double>(packs.tiles)};
}

/// Rank 0's: the step simulated with the loads of its packs.
std::optional<double> predict(const Training& training) {
  if (!training.layout.predicted) return {};
  const steps::StepCursor& cursor = training.reader->cursor();
  steps::StepTable step;
  step.num_steps = 1;
  step.micro_batches = cursor.ranks.micro_batches;
  step.dp = cursor.ranks.dp;
  step.pack_ids = training.reader->packs();
  return plan::step_seconds(training.layout.predicted->steps, step,
                            training.source->plan().pack_loads(), 1)
      .front();
}

std::int64_t cap_of(const Training& training, const char* key) {
  const codec::Json& document = training.source->plan().document();
  return document.at("limits").at(key).get<std::int64_t>();
}

std::int64_t packs_in_step(const Training& training) {
  std::int64_t packs = 0;
  for (const std::int64_t pack : training.reader->packs()) {
    if (pack != steps::kZeroWeightPack) ++packs;
  }
  return packs;
}

Result<PipelineReport> compute(Training& training) {
  const std::vector<std::int64_t> packs = training.reader->packs();
  const std::int64_t step = training.optimizer->step() + 1;
  const int dp = training.groups.dp->rank();
  PipelineCalls calls;
  calls.on_action = [&](const schedule::Action& action) {
    const std::int64_t place = action.micro_batch.value() * training.layout.ranks.dp + dp;
    training.board->tell(fmt::format("step {}, pack {}, action {}", step,
                                     packs[static_cast<std::size_t>(place)],
                                     schedule::to_text(action)));
  };
  calls.load = [&](MicroBatchIndex m) {
    return training.batches->load(m, [&] { training.board->beat(); });  // reading is no standstill
  };
  calls.deferral = {
      [&](const at::Tensor& parameter) { training.optimizer->deferred(parameter); },
      [&](const at::Tensor& parameter) { training.optimizer->accumulated(parameter); }};
  training.batches->begin_step();
  training.optimizer->begin_step(static_cast<int>(training.layout.micro_batches));
  return run_pipeline(training.pipeline, *training.groups.pp, calls);
}

/// Forward, backward and the optimizer's step. The sums are the world's.
Status compute_step(Training& training, Communicator& world, StepRow& row) {
  OMNIBAL_ASSIGN(const PipelineReport report, compute(training));
  training.board->tell(fmt::format("step {}, optimizer", row.step));
  std::array<double, 5> sums = own_sums(training, report.loss);
  OMNIBAL_RETURN_IF_ERROR(
      world.all_reduce(sums.data(), sums.size(), Element::kF64, Reduction::kSum).wait());
  const double weight = sums[1];
  const double scale = weight > 0 ? 1 / weight : 0;
  OMNIBAL_ASSIGN(const StepReport update, training.optimizer->finish_step(scale));
  row.loss = sums[0] * scale;
  row.tokens = static_cast<std::int64_t>(sums[2]);
  row.supervised = static_cast<std::int64_t>(sums[3]);
  row.tiles = static_cast<std::int64_t>(sums[4]);
  row.gradient_norm = update.gradient_norm;
  row.lr = training.config.optimizer.rules.lr * update.lr_factor;
  return {};
}

StepRow row_of(const Training& training) {
  StepRow row;
  row.step = training.optimizer->step() + 1;
  row.num_steps = training.num_steps;
  row.epoch = training.reader->cursor().at.epoch;
  const std::int64_t packs = packs_in_step(training);
  row.token_capacity = packs * cap_of(training, "token_cap");
  row.tile_capacity = packs * cap_of(training, "vision_cap");
  return row;
}

/// A step, and whether any rank is asked to stop behind it.
Result<bool> run_step(Training& training, Communicator& world, LiveBytes& live,
                      const TrainCalls& calls) {
  StepRow row = row_of(training);
  const auto began = Clock::now();
  live.restart_peak();
  const std::int64_t resting = live.now();
  OMNIBAL_RETURN_IF_ERROR(compute_step(training, world, row));
  const std::chrono::duration<double> seconds = Clock::now() - began;
  std::array<double, 4> most = {seconds.count(), static_cast<double>(live.peak()),
                                static_cast<double>(live.peak() - resting),
                                calls.stop_asked && calls.stop_asked() ? 1.0 : 0.0};
  OMNIBAL_RETURN_IF_ERROR(
      world.all_reduce(most.data(), most.size(), Element::kF64, Reduction::kMax).wait());
  row.seconds = most[0];
  row.peak_bytes = static_cast<std::int64_t>(most[1]);
  row.activation_bytes = static_cast<std::int64_t>(most[2]);
  if (world.rank() == 0) row.predicted_s = predict(training);  // not in the time of the step
  training.reader->advance();
  if (training.log) {
    OMNIBAL_RETURN_IF_ERROR(training.log->append(to_json(row).dump() + "\n"));
    OMNIBAL_RETURN_IF_ERROR(training.log->flush());
  }
  if (world.rank() == 0 && calls.on_step) calls.on_step(row);
  return most[3] > 0;
}

bool is_over(const Training& training) {
  if (training.optimizer->step() >= training.num_steps) return true;
  return training.config.steps == 0 && training.reader->cursor().at.epoch >= training.config.epochs;
}

Status run_steps(Training& training, Communicator& world, const TrainCalls& calls,
                 LiveBytes& live) {
  const CheckpointConfig& checkpoint = training.config.checkpoint;
  for (bool stop = false; !stop && !is_over(training);) {
    OMNIBAL_ASSIGN(stop, run_step(training, world, live, calls));
    const bool due = training.optimizer->step() % checkpoint.every == 0;
    if (checkpoint.dir.empty() || !(stop || due || is_over(training))) continue;
    training.board->tell_patiently(fmt::format("saves step {}", training.optimizer->step()));
    OMNIBAL_RETURN_IF_ERROR(save(training, world));
  }
  return {};
}

/// Beside the checkpoints or, without any, in a folder for temporary files.
Result<std::shared_ptr<StatusBoard>> open_board(const TrainConfig& config, Communicator& world) {
  const std::string temporary =
      fmt::format("{}/omnibal-{}", std::filesystem::temp_directory_path().string(), getpid());
  const std::string& checkpoints = config.checkpoint.dir;
  OMNIBAL_ASSIGN(const std::string directory,
                 share_path(checkpoints.empty() ? temporary : checkpoints + "/status", world));
  OMNIBAL_ASSIGN(const std::shared_ptr<StatusBoard> board,
                 StatusBoard::open(directory, world, config.watchdog));
  world.limit_waits({.interruption = [board] { return board->look_around(); }});
  return board;
}

/// `training` is left to the caller: transfers under way still use its buffers.
Result<TrainOutcome> train_rank(const TrainConfig& config, Communicator& world,
                                const TrainCalls& calls, LiveBytes& live,
                                std::unique_ptr<Training>& training) {
  at::set_num_threads(1);
  OMNIBAL_ASSIGN(const std::shared_ptr<StatusBoard> board, open_board(config, world));
  if (calls.on_status) calls.on_status(board->text());
  OMNIBAL_ASSIGN(training, set_up(config, world));
  training->board = board;
  if (world.rank() == 0 && calls.on_note && !training->resumed_from.empty()) {
    calls.on_note("resumes from " + training->resumed_from);
  }
  OMNIBAL_RETURN_IF_ERROR(run_steps(*training, world, calls, live));
  TrainOutcome outcome{training->optimizer->step(), is_over(*training), training->checkpoint, ""};
  if (outcome.finished && !config.checkpoint.dir.empty()) {
    outcome.model = config.checkpoint.dir + "/model";
    training->board->tell_patiently("exports the model");
    OMNIBAL_RETURN_IF_ERROR(export_model(*training, world, outcome.model));
  }
  training->board->end_well();
  return outcome;
}

Result<TrainOutcome> train_caught(const TrainConfig& config, Communicator& world,
                                  const TrainCalls& calls, LiveBytes& live,
                                  std::unique_ptr<Training>& training) {
  try {
    return train_rank(config, world, calls, live, training);
  } catch (const CommunicationFailure& failure) {
    return failure.error();
  } catch (const std::exception& problem) {  // of libtorch
    return Error(ErrorCode::kInternal, problem.what());
  }
}

}  // namespace

Result<TrainOutcome> train(const TrainConfig& config, Communicator& world,
                           const TrainCalls& calls) {
  LiveBytes live;
  std::unique_ptr<Training> training;
  Result<TrainOutcome> outcome = train_caught(config, world, calls, live, training);
  if (!outcome.ok()) world.fail(outcome.error());
  return outcome;
}

}  // namespace omnibal::runtime
