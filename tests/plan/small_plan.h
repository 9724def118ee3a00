// SPDX-License-Identifier: Apache-2.0
//
// A small whole plan for tests: 600 samples of 1 to 5 vision units, a 300M + 0.5B model on 8
// devices, planned in milliseconds.
#pragma once

#include <string>

#include "omnibal/base/philox.h"
#include "omnibal/cluster/cluster.h"
#include "omnibal/corpus/corpus.h"
#include "omnibal/model/model.h"
#include "omnibal/plan/plan_directory.h"
#include "omnibal/plan/planner.h"

namespace omnibal::plan {

inline corpus::Corpus small_corpus(std::int64_t num_samples = 600) {
  corpus::Corpus corpus;
  corpus.sources = {{.name = "made", .path = "made.json", .hash = "", .num_samples = num_samples}};
  PhiloxRng rng(7, RngStream::kTest);
  for (std::int64_t i = 0; i < num_samples; ++i) {
    const std::uint32_t vision = 1 + rng.below(5);
    const std::uint32_t text = 20 + rng.below(900);
    corpus.vision.push_back(vision);
    corpus.dummy_vision.push_back(0);
    corpus.tokens.push_back(256 * vision + text);
    corpus.supervised.push_back(text);
    corpus.source.push_back(0);
    corpus.row.push_back(static_cast<std::uint32_t>(i));
  }
  return corpus;
}

inline PlanRequest small_request() {
  PlanRequest request;
  request.sizes = {.tp = 1, .pp = 4, .dp = 2};
  request.global_batch = 64;
  request.data.limits = pack::PackLimits::with_paper_floors(9, 4096);
  return request;
}

inline Result<Plan> plan_small(const corpus::Corpus& corpus, const PlanRequest& request) {
  OMNIBAL_ASSIGN(const model::ModelSpec model, model::load_model("internvit-300m+qwen2.5-0.5b"));
  OMNIBAL_ASSIGN(const cluster::ClusterSpec cluster, cluster::load_cluster("a100-80g"));
  return make_plan(corpus, model, cluster, request, {});
}

/// Writes `plan` to `directory` as `omnibal plan` does.
inline Status write_small(const Plan& plan, const corpus::Corpus& corpus,
                          const std::string& directory) {
  return write_plan({.corpus = corpus,
                     .data = plan.data,
                     .profile = &plan.profile,
                     .provenance = {.options = {{"model", "internvit-300m+qwen2.5-0.5b"},
                                                {"cluster", "a100-80g"},
                                                {"micro_batch", 4}}},
                     .document = to_json(plan, corpus)},
                    directory);
}

}  // namespace omnibal::plan
