// SPDX-License-Identifier: Apache-2.0
//
// Packing knows a sample by its corpus index; a user knows it by the file and the row in it.
#pragma once

#include <cstdint>
#include <string>

#include "omnibal/base/error.h"
#include "omnibal/corpus/corpus.h"

namespace omnibal::cli {

/// An error whose row is a corpus index, with the sample's file and row in their place.
Error at_its_source(Error error, const corpus::Corpus& corpus);

/// "lengths.json row 3".
std::string place_of_sample(std::uint32_t sample, const corpus::Corpus& corpus);

}  // namespace omnibal::cli
