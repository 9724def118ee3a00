// SPDX-License-Identifier: Apache-2.0
#include "cli/sample_place.h"

#include <fmt/format.h>

namespace omnibal::cli {
namespace {

const corpus::Source& source_of(std::size_t sample, const corpus::Corpus& corpus) {
  return corpus.sources[corpus.source[sample]];
}

}  // namespace

Error at_its_source(Error error, const corpus::Corpus& corpus) {
  if (!error.where.row || !error.where.file.empty()) return error;
  const auto sample = static_cast<std::size_t>(*error.where.row);
  error.where.file = source_of(sample, corpus).path;
  error.where.row = corpus.row[sample];
  return error;
}

std::string place_of_sample(std::uint32_t sample, const corpus::Corpus& corpus) {
  return fmt::format("{} row {}", source_of(sample, corpus).path, corpus.row[sample]);
}

}  // namespace omnibal::cli
