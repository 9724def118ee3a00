// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "codec/scratch_directory.h"
#include "omnibal/corpus/corpus.h"

namespace omnibal::corpus {
namespace {

template <class T>
std::string raw(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof(T)};
}

/// As Megatron-Core's IndexedDatasetBuilder writes it: uint16 tokens, one document a sequence.
std::string index_of(const std::vector<std::int32_t>& lengths) {
  std::string text("MMIDIDX\0\0", 9);
  text += raw(std::uint64_t{1}) + raw(std::uint8_t{8}) + raw(std::uint64_t{lengths.size()}) +
          raw(std::uint64_t{lengths.size() + 1});
  for (const std::int32_t length : lengths) text += raw(length);
  std::int64_t offset = 0;
  for (const std::int32_t length : lengths) {
    text += raw(offset);
    offset += 2 * length;
  }
  for (std::int64_t i = 0; i <= static_cast<std::int64_t>(lengths.size()); ++i) text += raw(i);
  return text;
}

Result<LoadedCorpus> read_bytes(const std::string& bytes) {
  const ScratchDirectory scratch;
  return read_corpus({{scratch.write("a.idx", bytes), ""}}, {}, {});
}

TEST(CorpusMegatronIndex, GivesTokensWithoutTiles) {
  const Result<LoadedCorpus> loaded = read_bytes(index_of({300, 4096, 7}));
  ASSERT_TRUE(loaded.ok()) << to_text(loaded.error());
  EXPECT_THAT(loaded->corpus.tokens, testing::ElementsAre(300, 4096, 7));
  EXPECT_THAT(loaded->corpus.vision, testing::ElementsAre(0, 0, 0));
  EXPECT_THAT(loaded->corpus.supervised, testing::ElementsAre(300, 4096, 7));
  EXPECT_EQ(loaded->corpus.sources[0].name, "a");
}

TEST(CorpusMegatronIndex, TakesTheModesOfMultimodalSets) {
  EXPECT_TRUE(read_bytes(index_of({300, 7}) + "\x01\x02").ok());
}

TEST(CorpusMegatronIndex, EveryCutIsNoticed) {
  const std::string whole = index_of({300, 4096, 7});
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(read_bytes(whole.substr(0, length)).ok()) << length;
  }
  EXPECT_FALSE(read_bytes(whole + "x").ok());
}

TEST(CorpusMegatronIndex, RefusesCountsThatOverflowAndNegativeLengths) {
  std::string huge = index_of({300});
  huge.replace(18, 8, raw(~std::uint64_t{0} / 4));
  EXPECT_EQ(read_bytes(huge).error().code, ErrorCode::kUnknownFormat);
  const Error negative = read_bytes(index_of({1, -1})).error();
  EXPECT_EQ(negative.code, ErrorCode::kOutOfRange);
  EXPECT_EQ(negative.where.row, 1);
  EXPECT_EQ(read_bytes(index_of({})).error().code, ErrorCode::kEmptyInput);
  std::string newer = index_of({300});
  newer[9] = 2;
  EXPECT_EQ(read_bytes(newer).error().code, ErrorCode::kUnsupportedVersion);
}

}  // namespace
}  // namespace omnibal::corpus
