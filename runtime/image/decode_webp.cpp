// SPDX-License-Identifier: Apache-2.0
#include <webp/demux.h>

#include <memory>

#include "image/color.h"
#include "image/decoders.h"
#include "image/image_error.h"

namespace omnibal::runtime {
namespace {

struct DeleteDecoder {
  void operator()(WebPAnimDecoder* decoder) const { WebPAnimDecoderDelete(decoder); }
};

}  // namespace

/// The decoder of animations, as in Pillow: it takes still pictures too and places a frame that is
/// smaller than its canvas.
Status decode_webp(Bytes bytes, const std::string& origin, Image& image) {
  WebPAnimDecoderOptions options;
  if (WebPAnimDecoderOptionsInit(&options) == 0) {
    return Error(ErrorCode::kInternal, "libwebp is not of the version this was built with");
  }
  options.color_mode = MODE_RGBA;
  const WebPData data{reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
  const std::unique_ptr<WebPAnimDecoder, DeleteDecoder> decoder(
      WebPAnimDecoderNew(&data, &options));
  const Error broken = malformed_image(origin, "the WebP data are broken or cut off");
  WebPAnimInfo info;
  if (decoder == nullptr || WebPAnimDecoderGetInfo(decoder.get(), &info) == 0) return broken;
  if (info.canvas_width != static_cast<unsigned>(image.width) ||
      info.canvas_height != static_cast<unsigned>(image.height)) {
    return broken;
  }
  std::uint8_t* pixels = nullptr;
  int timestamp = 0;
  if (WebPAnimDecoderGetNext(decoder.get(), &pixels, &timestamp) == 0) return broken;
  for (std::uint8_t* to = image.pixels.data(); to != image.pixels.data() + image.pixels.size();
       to += kChannels, pixels += 4) {
    blend_on_white({pixels[0], pixels[1], pixels[2], pixels[3]}, to);
  }
  return {};
}

}  // namespace omnibal::runtime
