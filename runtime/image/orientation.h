// SPDX-License-Identifier: Apache-2.0
//
// The orientation (1..8) in EXIF and XMP metadata, found as Pillow finds it. Private to images.
//
//   int orientation = orientation_of(exif_bytes, xmp_text);
//
// Not for EXIF in general: one tag of the first directory is read.
#pragma once

#include "image/byte_reader.h"
#include "omnibal/runtime/image/image.h"

namespace omnibal::runtime {

/// EXIF first; XMP only where EXIF has no such tag. 1 if neither says anything sensible.
int orientation_of(Bytes exif, std::string_view xmp);

/// The picture as a viewer shows it.
Image apply_orientation(Image image, int orientation);

}  // namespace omnibal::runtime
