// SPDX-License-Identifier: Apache-2.0
//
// Packs prepared data and writes every pack as the trainer would feed it, so that tests in Python
// compare with the annotations and with the image processor of transformers.
//
//   omnibal_data_probe DATA MODEL PLAN OUT.safetensors TOKEN_CAP LOSS_MODE
//
// PLAN is made. OUT: "P/ids", "P/samples", ... of each pack P.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <string>

#include "omnibal/corpus/corpus.h"
#include "omnibal/plan/data_plan.h"
#include "omnibal/plan/plan_directory.h"
#include "omnibal/runtime/data/pack_source.h"
#include "omnibal/runtime/safetensors/writer.h"

namespace omnibal::runtime {
namespace {

Status make_plan(const std::string& data, const std::string& directory, std::int64_t token_cap) {
  OMNIBAL_ASSIGN(const corpus::LoadedCorpus loaded, corpus::read_corpus({{data, ""}}, {}, {}));
  plan::DataPlanOptions options;
  options.limits = pack::PackLimits::with_paper_floors(100, token_cap);
  options.steps = steps::StepOptions{.dp = 2, .micro_batches = 1};
  OMNIBAL_ASSIGN(const plan::DataPlan made, plan::make_data_plan(loaded.corpus, options, {}, {}));
  return plan::write_plan({.corpus = loaded.corpus,
                           .data = made,
                           .document = plan::to_json(made, loaded.corpus, options)},
                          directory);
}

template <class T>
TensorView view_of(std::int64_t pack, const char* name, DType dtype, const std::vector<T>& values) {
  return {fmt::format("{}/{}", pack, name),
          dtype,
          {static_cast<std::int64_t>(values.size())},
          std::as_bytes(std::span(values))};
}

Status write_packs(const PackSource& source, const std::string& path) {
  std::deque<PackArrays> packs;
  std::vector<TensorView> views;
  for (std::int64_t p = 0; p < source.num_packs(); ++p) {
    OMNIBAL_ASSIGN(packs.emplace_back(), source.load(p));
    const PackArrays& pack = packs.back();
    views.push_back(view_of(p, "samples", DType::kI64, pack.samples));
    views.push_back(view_of(p, "segment_offsets", DType::kI64, pack.segment_offsets));
    views.push_back(view_of(p, "ids", DType::kI64, pack.ids));
    views.push_back(view_of(p, "positions", DType::kI64, pack.positions));
    views.push_back(view_of(p, "labels", DType::kI64, pack.labels));
    views.push_back(view_of(p, "weights", DType::kF64, pack.weights));
    views.push_back(view_of(p, "pixels", DType::kF32, pack.pixels));
  }
  return write_tensors(path, views, {});
}

Status run(char** argv) {
  OMNIBAL_RETURN_IF_ERROR(make_plan(argv[1], argv[3], std::atoll(argv[5])));
  OMNIBAL_ASSIGN(ImageProcessor processor, read_image_processor(argv[2]));
  OMNIBAL_ASSIGN(const LossMode mode, parse_name(kLossModes, "loss mode", "loss", argv[6]));
  OMNIBAL_ASSIGN(const PackSource source,
                 PackSource::open(argv[1], argv[3], {.loss = mode, .images = processor}));
  return write_packs(source, argv[4]);
}

}  // namespace
}  // namespace omnibal::runtime

int main(int argc, char** argv) {
  if (argc != 7) return 2;
  const omnibal::Status status = omnibal::runtime::run(argv);
  if (status) return 0;
  fmt::print(stderr, "{}", to_text(status.error()));
  return error_code_info(status.error().code).exit_code;
}
