// SPDX-License-Identifier: Apache-2.0
//
// What is written and read does not depend on the locale of the process.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <clocale>
#include <locale>
#include <sstream>

#include "codec/scratch_directory.h"
#include "omnibal/base/quantity.h"
#include "omnibal/codec/json.h"
#include "omnibal/codec/npy.h"
#include "omnibal/codec/toml.h"

namespace omnibal::codec {
namespace {

/// "1.234,5", as in German, for C++ streams on any machine.
class CommaDecimals : public std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

/// Commas in the whole process while it lives; in C functions as well where the machine has such a
/// locale.
class CommaLocale {
 public:
  CommaLocale() : cpp_before_(std::locale::global(std::locale(std::locale(), new CommaDecimals))) {
    for (const char* name : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE", "fr_FR"}) {
      if (std::setlocale(LC_ALL, name) != nullptr) return;
    }
  }
  CommaLocale(const CommaLocale&) = delete;
  CommaLocale& operator=(const CommaLocale&) = delete;
  ~CommaLocale() {
    std::setlocale(LC_ALL, c_before_.c_str());
    std::locale::global(cpp_before_);
  }

 private:
  std::string c_before_ = std::setlocale(LC_ALL, nullptr);
  std::locale cpp_before_;
};

/// One text of everything that formats numbers.
std::string formatted() {
  const Json document = {{"real", 1234.5}, {"tiny", 1e-9}, {"whole", 1234567}, {"row", {0.5, 2}}};
  return codec::to_text(document) + format_bytes(1'234'500'000'000) + format_seconds(0.0123) +
         format_seconds(90.25) +
         to_text(Error(ErrorCode::kOutOfRange, fmt::format("{} {:.2f}", 1234567, 1234.5))
                     .at_row(1234567)
                     .with_value(1234.5)
                     .with_limit(std::int64_t{1234567}));
}

/// One text of everything that reads numbers, reals bit by bit.
std::string parsed() {
  const Json json = *parse_json(R"({"a": 1234.5, "b": 1e-9, "c": 1234567})", "a.json");
  const Json toml = *parse_toml("a = 1234.5\nb = 1e-9\nc = 1_234_567\n", "a.toml");
  std::string text = fmt::format("{} {}", *parse_bytes("1.5MiB"), parse_bytes("1,5MiB").ok());
  for (const Json& document : {json, toml}) {
    text += fmt::format(" {:x} {:x} {}", std::bit_cast<std::uint64_t>(document["a"].get<double>()),
                        std::bit_cast<std::uint64_t>(document["b"].get<double>()),
                        document["c"].get<std::int64_t>());
  }
  return text;
}

TEST(CodecLocale, TheTestsLocaleHasCommas) {
  const CommaLocale commas;
  std::ostringstream stream;
  stream << 1234.5;
  EXPECT_EQ(stream.str(), "1.234,5");
}

TEST(CodecLocale, NothingWrittenChanges) {
  const std::string before = formatted();
  const CommaLocale commas;
  EXPECT_EQ(formatted(), before);
}

TEST(CodecLocale, NothingReadChanges) {
  const std::string before = parsed();
  const CommaLocale commas;
  EXPECT_EQ(parsed(), before);
}

TEST(CodecLocale, ArraysKeepTheirHeaders) {
  const ScratchDirectory scratch;
  const std::vector<std::int64_t> values(1234, 7);
  const std::vector<std::int64_t> shape = {1234, 1};
  const auto write = [&](const char* name) {
    EXPECT_TRUE(write_npy<std::int64_t>(scratch / name, shape, values).ok());
    return content_of(scratch / name);
  };
  const std::string before = write("before.npy");
  const CommaLocale commas;
  EXPECT_EQ(write("after.npy"), before);
  EXPECT_EQ(NpyFile::open(scratch / "after.npy")->shape(), shape);
}

}  // namespace
}  // namespace omnibal::codec
