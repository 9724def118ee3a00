// SPDX-License-Identifier: Apache-2.0
//
// Reads weights and writes them again, so that tests in Python compare both ends with the package
// `safetensors`.
//
//   omnibal_tensor_probe WEIGHTS OUT_DIRECTORY [MAX_SHARD_BYTES]
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "omnibal/runtime/safetensors/reader.h"
#include "omnibal/runtime/safetensors/writer.h"

namespace omnibal::runtime {
namespace {

Status copy(const std::string& from, const std::string& to, const ShardOptions& options) {
  OMNIBAL_ASSIGN(const Weights weights, Weights::open(from));
  std::vector<TensorView> tensors;
  for (const std::string& name : weights.names()) {
    OMNIBAL_ASSIGN(TensorView tensor, weights.find(name));
    tensors.push_back(std::move(tensor));
  }
  return write_weights(to, tensors, options);
}

}  // namespace
}  // namespace omnibal::runtime

int main(int argc, char** argv) {
  using namespace omnibal;
  if (argc < 3) return 2;
  runtime::ShardOptions options;
  if (argc > 3) options.max_shard_bytes = std::atoll(argv[3]);
  const Status copied = runtime::copy(argv[1], argv[2], options);
  if (copied) return 0;
  fmt::print(stderr, "{}\n{}", error_code_info(copied.error().code).name, to_text(copied.error()));
  return error_code_info(copied.error().code).exit_code;
}
