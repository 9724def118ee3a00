// SPDX-License-Identifier: Apache-2.0
//
// One decoder a format, behind decode_image. Private to images. Each gets the file's bytes and an
// image of the header's size to fill; each answers with the reason if it cannot.
//
//   OMNIBAL_RETURN_IF_ERROR(decode_png(bytes, origin, image));
//
// Not to be called on bytes whose header was not read: sizes are trusted here.
#pragma once

#include <string>

#include "image/byte_reader.h"
#include "omnibal/base/result.h"
#include "omnibal/runtime/image/image.h"

namespace omnibal::runtime {

Status decode_jpeg(Bytes bytes, const std::string& origin, Image& image);
Status decode_png(Bytes bytes, const std::string& origin, Image& image);
Status decode_gif(Bytes bytes, const std::string& origin, Image& image);
Status decode_webp(Bytes bytes, const std::string& origin, Image& image);

}  // namespace omnibal::runtime
