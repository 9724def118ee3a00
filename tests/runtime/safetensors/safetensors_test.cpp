// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "codec/scratch_directory.h"
#include "omnibal/runtime/safetensors/reader.h"
#include "omnibal/runtime/safetensors/writer.h"

namespace omnibal::runtime {
namespace {

using testing::ElementsAre;

std::string file_of(std::string_view header, std::string_view data) {
  std::string file;
  for (std::size_t i = 0, rest = header.size(); i < 8; ++i, rest >>= 8U) {
    file += static_cast<char>(rest & 0xffU);
  }
  return (file += header) += data;
}

TensorView view(std::string name, DType dtype, std::vector<std::int64_t> shape,
                std::string_view bytes) {
  return {std::move(name), dtype, std::move(shape), std::as_bytes(std::span(bytes))};
}

std::string text(const TensorView& tensor) {
  return {reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()};
}

/// The error of a file with this header and eight bytes of data.
Error error_of(std::string_view header, std::string_view data = "12345678") {
  const ScratchDirectory scratch;
  const Result<TensorFile> file =
      TensorFile::open(scratch.write("a.safetensors", file_of(header, data)));
  EXPECT_FALSE(file.ok()) << header;
  return file.ok() ? Error(ErrorCode::kInternal, "") : file.error();
}

TEST(RuntimeSafetensors, ReadsWhatTheFormatSays) {
  const ScratchDirectory scratch;
  const std::string header =
      R"({"__metadata__":{"format":"pt"},"b":{"dtype":"BF16","shape":[1,2],"data_offsets":[4,8]},)"
      R"("a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
      R"("none":{"dtype":"F32","shape":[3,0],"data_offsets":[4,4]}}   )";
  const Result<TensorFile> file =
      TensorFile::open(scratch.write("a.safetensors", file_of(header, "1234abcd")));
  ASSERT_TRUE(file.ok()) << to_text(file.error());
  EXPECT_THAT(file->metadata(), ElementsAre(testing::Pair("format", "pt")));
  ASSERT_EQ(file->tensors().size(), 3);
  EXPECT_EQ(file->tensors()[0].name, "a");
  EXPECT_EQ(file->tensors()[1].name, "none");
  const Result<TensorView> b = file->find("b");
  ASSERT_TRUE(b.ok());
  EXPECT_EQ(b->dtype, DType::kBF16);
  EXPECT_THAT(b->shape, ElementsAre(1, 2));
  EXPECT_EQ(text(*b), "abcd");
  EXPECT_EQ(file->find("c").error().code, ErrorCode::kMissingTensor);
}

TEST(RuntimeSafetensors, ALyingHeaderLengthIsRefused) {
  const ScratchDirectory scratch;
  const std::string good =
      file_of(R"({"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]}})", "12345678");
  ASSERT_TRUE(TensorFile::open(scratch.write("a", good)).ok());
  for (std::size_t byte = 0; byte < 8; ++byte) {
    std::string lie = good;
    lie[byte] = static_cast<char>(lie[byte] ^ 0xff);
    EXPECT_EQ(TensorFile::open(scratch.write("a", lie)).error().code,
              ErrorCode::kMalformedSafetensors);
  }
}

TEST(RuntimeSafetensors, AFileCutAnywhereIsRefused) {
  const ScratchDirectory scratch;
  const std::string good =
      file_of(R"({"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]}})", "12345678");
  for (std::size_t size = 0; size < good.size(); ++size) {
    const Result<TensorFile> cut = TensorFile::open(scratch.write("a", good.substr(0, size)));
    ASSERT_FALSE(cut.ok()) << size;
    EXPECT_EQ(cut.error().code, ErrorCode::kMalformedSafetensors);
  }
  EXPECT_THAT(error_of(R"({"a":{"dtype":"U8","shape":[9],"data_offsets":[0,9]}})").message,
              testing::HasSubstr("cut off"));
}

TEST(RuntimeSafetensors, RangesMustTileTheData) {
  const auto two = [](std::string_view first, std::string_view second) {
    return std::string(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)") + std::string(first) +
           R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + std::string(second) + "}}";
  };
  const Error overlap = error_of(two("[0,4]", "[3,7]"));
  EXPECT_EQ(overlap.code, ErrorCode::kMalformedSafetensors);
  EXPECT_EQ(overlap.where.key, "b");
  EXPECT_THAT(overlap.message, testing::HasSubstr("overlaps"));
  EXPECT_THAT(error_of(two("[0,4]", "[0,4]")).message, testing::HasSubstr("overlaps"));
  EXPECT_THAT(error_of(two("[0,4]", "[5,9]"), "123456789").message, testing::HasSubstr("gap"));
  EXPECT_THAT(error_of(two("[4,0]", "[4,8]")).message, testing::HasSubstr("begin and an end"));
  EXPECT_THAT(error_of(two("[0,4]", "[4,8]"), "123456789").message,
              testing::HasSubstr("belong to no tensor"));
  EXPECT_EQ(error_of(two("[0,4]", "[4,9223372036854775808]")).where.key, "b");
  EXPECT_EQ(error_of(two("[-4,0]", "[0,8]")).where.key, "a");
}

TEST(RuntimeSafetensors, TypeAndShapeMustMakeTheSize) {
  const auto one = [](std::string_view dtype, std::string_view shape) {
    return std::string(R"({"a":{"dtype":)") + std::string(dtype) + R"(,"shape":)" +
           std::string(shape) + R"(,"data_offsets":[0,8]}})";
  };
  for (const auto& [dtype, shape] : {std::pair{R"("F32")", "[3]"},
                                     {R"("F128")", "[1]"},
                                     {"4", "[2]"},
                                     {R"("U8")", "[-8]"},
                                     {R"("U8")", "[8.0]"},
                                     {R"("U8")", "8"},
                                     {R"("U8")", "[4294967296,4294967296,4294967296]"},
                                     {R"("F64")", "[2305843009213693953]"}}) {
    const Error error = error_of(one(dtype, shape));
    EXPECT_EQ(error.code, ErrorCode::kMalformedSafetensors) << shape;
    EXPECT_EQ(error.where.key, "a");
  }
}

TEST(RuntimeSafetensors, TheHeaderItselfIsChecked) {
  EXPECT_EQ(error_of(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                     R"("a":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})")
                .code,
            ErrorCode::kDuplicateName);
  for (const std::string_view header :
       {"[]", " {}", "{", R"({"a":[]})", R"({"a":{"dtype":"U8","shape":[8]}})",
        R"({"a":{"dtype":"U8","dtype":"U8","shape":[8],"data_offsets":[0,8]}})",
        R"({"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8],"more":1}})",
        R"({"__metadata__":{"x":1},"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]}})"}) {
    EXPECT_EQ(error_of(header).code, ErrorCode::kMalformedSafetensors) << header;
  }
}

TEST(RuntimeSafetensors, WhatIsWrittenIsReadAgain) {
  const ScratchDirectory scratch;
  const std::string path = scratch / "out.safetensors";
  const std::vector<TensorView> tensors = {view("ключ", DType::kF32, {1, 2}, "12345678"),
                                           view("scalar", DType::kF64, {}, "abcdefgh"),
                                           view("empty", DType::kI64, {0}, "")};
  ASSERT_TRUE(write_tensors(path, tensors, {{"format", "pt"}}).ok());
  const Result<TensorFile> file = TensorFile::open(path);
  ASSERT_TRUE(file.ok()) << to_text(file.error());
  for (const TensorView& tensor : tensors) {
    const Result<TensorView> found = file->find(tensor.name);
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(found->dtype, tensor.dtype);
    EXPECT_EQ(found->shape, tensor.shape);
    EXPECT_EQ(text(*found), text(tensor));
  }
  EXPECT_EQ(std::bit_cast<std::uintptr_t>(file->tensors()[0].bytes.data()) % 8, 0);
}

TEST(RuntimeSafetensors, TheWriterRefusesWhatTheReaderWould) {
  const ScratchDirectory scratch;
  const std::string path = scratch / "out.safetensors";
  const TensorView wrong = view("a", DType::kF32, {3}, "12345678");
  EXPECT_EQ(write_tensors(path, {&wrong, 1}, {}).error().code, ErrorCode::kMalformedSafetensors);
  const std::vector<TensorView> twice(2, view("a", DType::kF32, {2}, "12345678"));
  EXPECT_EQ(write_tensors(path, twice, {}).error().code, ErrorCode::kDuplicateName);
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(RuntimeSafetensors, ShardsAreFoundThroughTheirIndex) {
  const ScratchDirectory scratch;
  const std::vector<TensorView> tensors = {
      view("a", DType::kF32, {2}, "aaaaaaaa"), view("b", DType::kF32, {4}, "bbbbbbbbbbbbbbbb"),
      view("c", DType::kU8, {3}, "ccc"), view("d", DType::kU8, {4}, "dddd")};
  ASSERT_TRUE(write_weights(scratch.path(), tensors, {.max_shard_bytes = 10}).ok());
  EXPECT_TRUE(std::filesystem::exists(scratch / "model-00003-of-00003.safetensors"));
  const Result<Weights> weights = Weights::open(scratch.path());
  ASSERT_TRUE(weights.ok()) << to_text(weights.error());
  EXPECT_THAT(weights->names(), ElementsAre("a", "b", "c", "d"));
  for (const TensorView& tensor : tensors) {
    EXPECT_EQ(text(*weights->find(tensor.name)), text(tensor));
  }
  EXPECT_EQ(weights->find("aa").error().hint, "the nearest name is \"a\"");
  EXPECT_EQ(write_weights(scratch.path(), tensors, {}).error().code, ErrorCode::kWouldOverwrite);
}

TEST(RuntimeSafetensors, IndexAndFilesMustAgree) {
  const ScratchDirectory scratch;
  const TensorView a = view("a", DType::kU8, {1}, "x");
  ASSERT_TRUE(write_tensors(scratch / "one.safetensors", {&a, 1}, {}).ok());
  ASSERT_TRUE(write_tensors(scratch / "two.safetensors", {&a, 1}, {}).ok());
  const auto code_of = [&](std::string_view weight_map) {
    const std::string index = scratch.write("model.safetensors.index.json",
                                            R"({"weight_map":)" + std::string(weight_map) + "}");
    const Result<Weights> weights = Weights::open(index);
    return weights.ok() ? ErrorCode::kInternal : weights.error().code;
  };
  EXPECT_EQ(code_of(R"({"a":"one.safetensors","b":"one.safetensors"})"), ErrorCode::kMissingTensor);
  EXPECT_EQ(code_of(R"({"a":"one.safetensors","b":"two.safetensors"})"), ErrorCode::kDuplicateName);
  EXPECT_EQ(code_of(R"({"a":"three.safetensors"})"), ErrorCode::kFileNotFound);
  EXPECT_EQ(code_of(R"({"a":"../one.safetensors"})"), ErrorCode::kOutOfRange);
  EXPECT_EQ(code_of(R"({"a":1})"), ErrorCode::kWrongType);
  EXPECT_EQ(Weights::open(scratch / "nowhere").error().code, ErrorCode::kFileNotFound);
}

}  // namespace
}  // namespace omnibal::runtime
