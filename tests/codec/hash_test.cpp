// SPDX-License-Identifier: Apache-2.0
#include "omnibal/codec/hash.h"

#include <gtest/gtest.h>

#include "codec/scratch_directory.h"

namespace omnibal::codec {
namespace {

std::string hash_text(std::string_view text) { return hash_bytes(std::as_bytes(std::span(text))); }

TEST(CodecHash, EqualsXxhsum) {  // printf ... | xxhsum -H2
  EXPECT_EQ(hash_text(""), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(hash_text("omnibal"), "f7bf3c320c68ea9cb508bf87a9b2c74c");
  EXPECT_EQ(hash_text(std::string(1000, 'x')), "50a1af5a5f2dcf01c0a4877b962cba82");
}

TEST(CodecHash, PiecesAndFilesGiveTheHashOfTheWhole) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += static_cast<char>(i % 251);
  for (const std::size_t piece : {1U, 7U, 240U, 1024U, 99'999U}) {
    Hasher hasher;
    for (std::size_t at = 0; at < text.size(); at += piece) {
      hasher.add(std::string_view(text).substr(at, piece));
    }
    EXPECT_EQ(hasher.hex(), hash_text(text)) << piece;
  }
  const ScratchDirectory scratch;
  EXPECT_EQ(*hash_file(scratch.write("a", text)), hash_text(text));
  EXPECT_EQ(hash_file(scratch.path()).error().code, ErrorCode::kFileUnreadable);
  EXPECT_EQ(hash_file(scratch / "absent").error().code, ErrorCode::kFileNotFound);
}

}  // namespace
}  // namespace omnibal::codec
