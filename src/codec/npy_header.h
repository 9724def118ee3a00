// SPDX-License-Identifier: Apache-2.0
//
// The header of a .npy file, versions 1.0 and 2.0. Private to the room.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "omnibal/base/result.h"

namespace omnibal::codec {

struct NpyHeader {
  std::string descr;  // "<i8"
  bool fortran_order = false;
  std::vector<std::int64_t> shape;  // none negative
  std::size_t data_offset = 0;      // at most the size of the file
};

/// kMalformedNpy of the file at `path`.
Error malformed_npy(const std::string& path, std::string message);

/// `file` is the whole file and begins with the magic bytes. Error: kMalformedNpy.
Result<NpyHeader> parse_npy_header(std::string_view file, const std::string& path);

}  // namespace omnibal::codec
