// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "codec/scratch_directory.h"
#include "omnibal/base/philox.h"
#include "omnibal/codec/json.h"
#include "omnibal/codec/npy.h"

namespace omnibal::codec {
namespace {

Json random_value(PhiloxRng& rng, int depth) {
  switch (rng.below(depth > 4 ? 6 : 8)) {
    case 0:
      return nullptr;
    case 1:
      return rng.below(2) == 0;
    case 2:
      return static_cast<std::int64_t>(rng.next_u64());
    case 3: {
      const double number = std::bit_cast<double>(rng.next_u64());
      return std::isfinite(number) ? number : 0.1;
    }
    case 4:
      return rng.uniform();
    case 5: {
      std::string text;
      for (std::uint32_t i = rng.below(9); i > 0; --i) text += static_cast<char>(rng.below(128));
      return text;
    }
    case 6: {
      Json list = Json::array();
      for (std::uint32_t i = rng.below(5); i > 0; --i) list.push_back(random_value(rng, depth + 1));
      return list;
    }
    default: {
      Json object = Json::object();
      for (std::uint32_t i = rng.below(5); i > 0; --i) {
        object[fmt::format("k{}", i)] = random_value(rng, depth + 1);
      }
      return object;
    }
  }
}

TEST(CodecRoundTripProperty, JsonTextReadsBackEqual) {
  for (std::uint32_t round = 0; round < 2000; ++round) {
    PhiloxRng rng(1, RngStream::kTest, round);
    const Json document = {{"root", random_value(rng, 0)}};
    const Result<Json> again = parse_json(to_text(document), "a.json");
    ASSERT_TRUE(again.ok()) << to_text(document) << again.error().message;
    ASSERT_EQ(*again, document) << to_text(document);
    ASSERT_EQ(to_text(*again), to_text(document));
  }
}

template <class T>
void expect_npy_round_trip(const ScratchDirectory& scratch, PhiloxRng& rng) {
  std::vector<std::int64_t> shape;
  std::size_t size = 1;
  for (std::uint32_t i = rng.below(4); i > 0; --i) {
    shape.push_back(rng.below(6));
    size *= static_cast<std::size_t>(shape.back());
  }
  std::vector<T> values(size);
  for (T& value : values) value = static_cast<T>(rng.next_u32());
  const std::string path = scratch / "a.npy";
  const std::span<const T> view = values;
  ASSERT_TRUE(write_npy<T>(path, shape, view).ok());
  const Result<NpyFile> file = NpyFile::open(path);
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->shape(), shape);
  const auto read = file->as<T>(shape.size());
  ASSERT_TRUE(read.ok());
  EXPECT_TRUE(std::equal(read->begin(), read->end(), values.begin(), values.end()));
}

TEST(CodecRoundTripProperty, ArraysOfEveryTypeAndShapeReadBackEqual) {
  const ScratchDirectory scratch;
  for (std::uint32_t round = 0; round < 20; ++round) {
    PhiloxRng rng(2, RngStream::kTest, round);
    expect_npy_round_trip<std::uint8_t>(scratch, rng);
    expect_npy_round_trip<std::uint16_t>(scratch, rng);
    expect_npy_round_trip<std::uint32_t>(scratch, rng);
    expect_npy_round_trip<std::int32_t>(scratch, rng);
    expect_npy_round_trip<std::int64_t>(scratch, rng);
    expect_npy_round_trip<double>(scratch, rng);
  }
}

}  // namespace
}  // namespace omnibal::codec
