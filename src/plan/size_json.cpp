// SPDX-License-Identifier: Apache-2.0
#include "omnibal/plan/size_search.h"

namespace omnibal::plan {
namespace {

using codec::Json;

Json sizes_json(const cluster::ParallelSizes& sizes) {
  return {{"tp", sizes.tp}, {"pp", sizes.pp}, {"dp", sizes.dp}};
}

Json candidate_json(const SizeCandidate& candidate) {
  const CapPrediction& prediction = candidate.prediction;
  Json parallel = sizes_json(candidate.sizes);
  parallel["micro_batches"] = prediction.micro_batches;
  return {{"parallel", parallel},
          {"schedule", to_json(candidate.schedule)},
          {"vision_cap", prediction.vision_cap},
          {"token_cap", prediction.token_cap},
          {"seconds_per_sample", prediction.seconds_per_sample},
          {"rejected", candidate.rejected},
          {"gpu_days", candidate.gpu_days},
          {"peak_bytes", prediction.peak_bytes},
          {"shares", to_json(candidate.shares)},
          {"refined", candidate.caps.has_value()},
          {"reason", candidate.reason}};
}

}  // namespace

codec::Json to_json(const SizeChoice& choice) {
  Json json = {{"gpus", choice.gpus}, {"candidates", Json::array()}, {"refused", Json::array()}};
  for (const SizeCandidate& candidate : choice.ranked) {
    json["candidates"].push_back(candidate_json(candidate));
  }
  for (const SizeCandidate& candidate : choice.refused) {
    json["refused"].push_back({{"parallel", sizes_json(candidate.sizes)},
                               {"schedule", to_json(candidate.schedule)},
                               {"reason", candidate.reason}});
  }
  return json;
}

}  // namespace omnibal::plan
