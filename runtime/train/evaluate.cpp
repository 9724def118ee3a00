// SPDX-License-Identifier: Apache-2.0
#include "omnibal/runtime/train/evaluate.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/argmax.h>
#include <c10/core/GradMode.h>

#include <array>
#include <exception>

#include "omnibal/runtime/layers/vocabulary.h"
#include "omnibal/runtime/model/weights.h"
#include "train/step_batches.h"
#include "train/training.h"

namespace omnibal::runtime {
namespace {

struct Sums {
  double loss = 0, weight = 0;
  std::int64_t samples = 0, exact = 0, supervised = 0, likeliest = 0;
};

/// The samples of a pack: `right` tells of each supervised position, `places` where it stands.
void count(const PreparedBatch& batch, const at::Tensor& right, Sums& sums) {
  const std::int64_t* const places = batch.supervised.const_data_ptr<std::int64_t>();
  const bool* const is_right = right.const_data_ptr<bool>();
  const std::vector<std::int64_t>& offsets = batch.batch.segment_offsets;
  std::int64_t next = 0;
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
    const std::int64_t first = next;
    std::int64_t num_right = 0;
    for (; next < right.numel() && places[next] < offsets[s + 1]; ++next) {
      num_right += is_right[next] ? 1 : 0;
    }
    if (next == first) continue;
    ++sums.samples;
    sums.supervised += next - first;
    sums.likeliest += num_right;
    sums.exact += num_right == next - first ? 1 : 0;
  }
}

void run_pack(const Stage& model, const PreparedBatch& batch, Sums& sums) {
  const Pass pass{batch};
  at::Tensor value;
  for (std::size_t i = 0; i + 1 < model.layers.size(); ++i) {
    value = forward(model.layers[i], value, pass);
  }
  const at::Tensor words = logits(std::get<Head>(model.layers.back()), value, pass);
  if (words.size(0) == 0) return;
  count(batch, at::argmax(words, 1).eq(batch.targets).contiguous(), sums);
  sums.loss += weighted_cross_entropy(words, batch.targets, batch.factors, 0, nullptr)
                   .to(at::kDouble)
                   .item<double>();
}

Result<Sums> run_own_packs(const TrainConfig& config, const Communicator& world) {
  OMNIBAL_ASSIGN(const ModelConfig model, read_model_config(config.model));
  const auto layers = static_cast<std::int64_t>(model.spec.layers.size());
  Stage stage = make_stage(model, {.end = layers, .type = type_of(config.precision)});
  OMNIBAL_ASSIGN(const Weights weights, Weights::open(config.model));
  OMNIBAL_RETURN_IF_ERROR(load_parameters(weights, stage));
  PackOptions options{.loss = config.loss};
  OMNIBAL_ASSIGN(options.images, read_image_processor(config.model));
  OMNIBAL_ASSIGN(const PackSource source,
                 PackSource::open(config.data, config.plan, std::move(options)));
  OMNIBAL_RETURN_IF_ERROR(check_tiles(source, model, config.data));
  const BatchNeeds needs{.model = model, .type = stage.options.type, .order = {}, .pixels = true};
  Sums sums;
  for (std::int64_t pack = world.rank(); pack < source.num_packs(); pack += world.size()) {
    OMNIBAL_ASSIGN(const PackArrays arrays, source.load(pack));
    OMNIBAL_ASSIGN(const PreparedBatch batch,
                   prepare(micro_batch_of(arrays, needs), model, stage.options.type));
    sums.weight += arrays.weight_sum;
    run_pack(stage, batch, sums);
  }
  return sums;
}

Result<Sums> run_caught(const TrainConfig& config, const Communicator& world) {
  try {
    return run_own_packs(config, world);
  } catch (const std::exception& problem) {  // of libtorch
    return Error(ErrorCode::kInternal, problem.what());
  }
}

double share(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

}  // namespace

codec::Json to_json(const Evaluation& evaluation) {
  return {{"loss", evaluation.loss},
          {"samples", evaluation.samples},
          {"supervised", evaluation.supervised},
          {"answer_accuracy", share(evaluation.exact_answers, evaluation.samples)},
          {"token_accuracy", share(evaluation.likeliest, evaluation.supervised)}};
}

Result<Evaluation> evaluate(const TrainConfig& config, Communicator& world) {
  at::set_num_threads(1);
  const c10::NoGradGuard no_graph;
  const Result<Sums> own = run_caught(config, world);
  if (!own.ok()) {
    world.fail(own.error());
    return own.error();
  }
  std::array<double, 2> real = {own->loss, own->weight};
  std::array<std::int64_t, 4> whole = {own->samples, own->exact, own->supervised, own->likeliest};
  OMNIBAL_RETURN_IF_ERROR(
      world.all_reduce(real.data(), real.size(), Element::kF64, Reduction::kSum).wait());
  OMNIBAL_RETURN_IF_ERROR(
      world.all_reduce(whole.data(), whole.size(), Element::kI64, Reduction::kSum).wait());
  return Evaluation{.loss = real[1] > 0 ? real[0] / real[1] : 0,
                    .samples = whole[0],
                    .exact_answers = whole[1],
                    .supervised = whole[2],
                    .likeliest = whole[3]};
}

}  // namespace omnibal::runtime
