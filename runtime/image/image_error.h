// SPDX-License-Identifier: Apache-2.0
//
// The one way in which a broken picture is told. Private to images.
//
//   return malformed_image(origin, "the PNG data are broken: CRC error");
//
// Not for what is whole but not read: kUnknownFormat.
#pragma once

#include <string>
#include <utility>

#include "omnibal/base/error.h"

namespace omnibal::runtime {

inline Error malformed_image(const std::string& origin, std::string why) {
  return Error(ErrorCode::kMalformedImage, std::move(why))
      .in_file(origin)
      .with_hint("replace the file, or leave its row out");
}

}  // namespace omnibal::runtime
