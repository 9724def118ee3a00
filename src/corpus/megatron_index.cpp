// SPDX-License-Identifier: Apache-2.0
//
// Megatron-Core's IndexedDataset index: 9 bytes of magic, version (u64), type code (u8), number of
// sequences (u64) and of document boundaries (u64), lengths (i32), offsets (i64), boundaries (i64),
// and, in multimodal sets, a mode a sequence (i8). A sequence is a sample here; pictures are not in
// it.
#include <fmt/format.h>

#include <cstring>

#include "corpus/input_forms.h"
#include "omnibal/codec/files.h"
#include "omnibal/codec/hash.h"

namespace omnibal::corpus {
namespace {

constexpr std::string_view kMagic("MMIDIDX\0\0", 9);
constexpr std::size_t kHeaderBytes = 9 + 8 + 1 + 8 + 8;

template <class T>
T load(std::span<const std::byte> bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

Error malformed(const std::string& path, std::string message) {
  return Error(ErrorCode::kUnknownFormat, "Megatron index: " + std::move(message)).in_file(path);
}

/// The number of sequences, if the file is as long as its header says.
Result<std::uint64_t> count_sequences(std::span<const std::byte> bytes, const std::string& path) {
  if (bytes.size() < kHeaderBytes) return malformed(path, "the header is cut off");
  const auto version = load<std::uint64_t>(bytes, 9);
  if (version != 1) {
    return Error(ErrorCode::kUnsupportedVersion, "Megatron index: unknown version")
        .in_file(path)
        .with_value(fmt::format("{}", version))
        .with_limit(std::int64_t{1});
  }
  const auto sequences = load<std::uint64_t>(bytes, 18);
  const auto boundaries = load<std::uint64_t>(bytes, 26);
  const std::uint64_t left = bytes.size() - kHeaderBytes;
  if (sequences > left / 12 || boundaries > left / 8) {
    return malformed(path, "the file is shorter than its header says");
  }
  const std::uint64_t expected = 12 * sequences + 8 * boundaries;
  if (left != expected && left != expected + sequences) {
    return malformed(path, "the file is not as long as its header says")
        .with_value(static_cast<std::int64_t>(left))
        .with_limit(static_cast<std::int64_t>(expected));
  }
  if (sequences == 0) return Error(ErrorCode::kEmptyInput, "the index is empty").in_file(path);
  return sequences;
}

}  // namespace

bool is_megatron_index(std::string_view first_bytes) { return first_bytes.starts_with(kMagic); }

Status read_megatron_index(Loading& loading, const Input& input) {
  OMNIBAL_ASSIGN(const codec::MappedFile file, codec::MappedFile::open(input.path));
  const std::span<const std::byte> bytes = file.bytes();
  OMNIBAL_ASSIGN(const std::uint64_t sequences, count_sequences(bytes, input.path));
  OMNIBAL_RETURN_IF_ERROR(use_unit(loading, VisionUnit{}, input.path));
  const std::string hash = codec::hash_bytes(bytes);
  OMNIBAL_RETURN_IF_ERROR(
      begin_source(loading, {.name = source_name(input), .path = input.path, .hash = hash}));
  loading.inputs.push_back({input.path, hash});
  loading.corpus.supervised_is_estimate = true;
  for (std::uint64_t i = 0; i < sequences; ++i) {
    const auto tokens = load<std::int32_t>(bytes, kHeaderBytes + 4 * i);
    if (tokens < 0) {
      return Error(ErrorCode::kOutOfRange, fmt::format("sample {}: negative length", i))
          .in_file(input.path)
          .at_row(static_cast<std::int64_t>(i))
          .with_value(std::int64_t{tokens})
          .with_limit(std::int64_t{0});
    }
    add_sample(loading, {.tokens = static_cast<std::uint32_t>(tokens)});
  }
  return end_source(loading);
}

}  // namespace omnibal::corpus
