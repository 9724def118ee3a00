// SPDX-License-Identifier: Apache-2.0
//
// Evaluates a model on data that it was not trained on: the loss, and how many answers greedy
// decoding gives to the letter.
//
//   OMNIBAL_ASSIGN(const Evaluation found, evaluate(config, *world));   // config.model, data, plan
//   found.loss;
//   found.exact_answers;    // of found.samples
//
// Not generation: greedy decoding gives an answer exactly if each of its tokens is the likeliest
// behind those before it, which one forward tells. Each rank has the whole model, and packs of its
// own.
#pragma once

#include <cstdint>

#include "omnibal/codec/json.h"
#include "omnibal/runtime/comm/communicator.h"
#include "omnibal/runtime/train_config/train_config.h"

namespace omnibal::runtime {

struct Evaluation {
  double loss = 0;                 // per weight, as in training
  std::int64_t samples = 0;        // with supervised tokens
  std::int64_t exact_answers = 0;  // samples whose supervised tokens are all the likeliest
  std::int64_t supervised = 0;
  std::int64_t likeliest = 0;  // supervised tokens that are
};

/// {loss, samples, supervised, answer_accuracy, token_accuracy}; accuracies of nothing are 0.
codec::Json to_json(const Evaluation& evaluation);

/// Every pack of the plan once. The same on each rank. Collective over `world`. Errors: those of
/// what is read and of the communicator.
Result<Evaluation> evaluate(const TrainConfig& config, Communicator& world);

}  // namespace omnibal::runtime
