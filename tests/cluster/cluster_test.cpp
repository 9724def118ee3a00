// SPDX-License-Identifier: Apache-2.0
#include "omnibal/cluster/cluster.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

namespace omnibal::cluster {
namespace {

using ::testing::HasSubstr;

ClusterSpec load(const std::string& name) {
  Result<ClusterSpec> cluster = load_cluster(name);
  EXPECT_TRUE(cluster.ok()) << (cluster.ok() ? "" : to_text(cluster.error()));
  return cluster.ok() ? *std::move(cluster) : ClusterSpec{};
}

TEST(ClusterPresets, A100IsThePapers) {
  const ClusterSpec cluster = load("a100-80g");
  EXPECT_EQ(cluster.device_memory_bytes, 85899345920);
  EXPECT_EQ(cluster.usable_bytes(), 80745385164);  // 6 % kept free, rounded down
  EXPECT_EQ(cluster.peak_flops, 312e12);
  EXPECT_EQ(cluster.achieved_flops, 163e12);
  EXPECT_EQ(cluster.memory_bytes_per_s, 2039e9);
  EXPECT_EQ(cluster.devices_per_node, 8);
  EXPECT_EQ(cluster.inner.bytes_per_s, 300e9);
  EXPECT_EQ(cluster.outer.bytes_per_s, 25e9);
}

TEST(ClusterPresets, OthersAchieveTheSameFractionOfTheirPeak) {
  for (const char* name : {"h100-80g", "H200"}) {
    const ClusterSpec cluster = load(name);
    EXPECT_NEAR(cluster.achieved_flops / cluster.peak_flops, 163.0 / 312.0, 1e-12) << name;
    EXPECT_EQ(cluster.peak_flops, 989e12);
  }
  EXPECT_EQ(load("h200").device_memory_bytes, 141'000'000'000);
}

TEST(ClusterPresets, UnknownNamesAreToldTheNearest) {
  const auto cluster = load_cluster("a100-40g");
  ASSERT_FALSE(cluster.ok());
  EXPECT_EQ(cluster.error().code, ErrorCode::kUnknownPreset);
  EXPECT_THAT(cluster.error().message, HasSubstr("a100-80g"));
  EXPECT_THAT(load_cluster("A100").error().message, HasSubstr("the nearest is \"a100-80g\""));
  EXPECT_EQ(load_cluster("no/such.toml").error().code, ErrorCode::kFileNotFound);
}

class ClusterFile : public ::testing::Test {
 protected:
  ~ClusterFile() override { std::filesystem::remove(path_); }

  Result<ClusterSpec> read(const std::string& text) {
    std::ofstream(path_) << text;
    return load_cluster(path_);
  }

  std::string path_ = ::testing::TempDir() + "omnibal_" +
                      ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".toml";
};

constexpr const char* kWhole = R"(
device_memory = "40GiB"
memory_reserve = 0.1
peak_flops = 312e12
achieved_flops = 100e12
memory_bytes_per_s = 1555e9
host_bytes_per_s = 20e9
host_memory = "256GiB"
devices_per_node = 4
[inner]
bytes_per_s = 200e9
latency_s = 1e-6
[outer]
bytes_per_s = 12e9
)";

TEST_F(ClusterFile, EveryKeyIsRead) {
  const auto cluster = read(std::string("name = \"old cluster\"\n") + kWhole);
  ASSERT_TRUE(cluster.ok()) << to_text(cluster.error());
  EXPECT_EQ(cluster->name, "old cluster");
  EXPECT_EQ(cluster->device_memory_bytes, std::int64_t{40} << 30);
  EXPECT_EQ(cluster->memory_reserve, 0.1);
  EXPECT_EQ(cluster->peak_flops, 312e12);
  EXPECT_EQ(cluster->achieved_flops, 100e12);
  EXPECT_EQ(cluster->memory_bytes_per_s, 1555e9);
  EXPECT_EQ(cluster->host_bytes_per_s, 20e9);
  EXPECT_EQ(cluster->host_memory_bytes, std::int64_t{256} << 30);
  EXPECT_EQ(cluster->host_share_bytes(), std::int64_t{64} << 30);
  EXPECT_EQ(cluster->devices_per_node, 4);
  EXPECT_EQ(cluster->inner.bytes_per_s, 200e9);
  EXPECT_EQ(cluster->inner.latency_s, 1e-6);
  EXPECT_EQ(cluster->outer.bytes_per_s, 12e9);
  EXPECT_EQ(cluster->outer.latency_s, 0);
}

TEST_F(ClusterFile, ABaseGivesWhatTheFileLeavesOut) {
  const auto cluster = read("base = \"h200\"\ndevice_memory = 1000\n[outer]\nbytes_per_s = 1e9\n");
  ASSERT_TRUE(cluster.ok()) << to_text(cluster.error());
  EXPECT_EQ(cluster->device_memory_bytes, 1000);
  EXPECT_EQ(cluster->peak_flops, 989e12);
  EXPECT_EQ(cluster->outer.bytes_per_s, 1e9);
  EXPECT_EQ(cluster->outer.latency_s, load("h200").outer.latency_s);
  EXPECT_EQ(cluster->name, std::filesystem::path(path_).stem().string());
}

TEST_F(ClusterFile, RatesOfMemoryAndTheHostMayBeLeftOut) {
  std::string text = kWhole;
  for (const char* key : {"memory_bytes_per_s", "host_bytes_per_s", "host_memory"}) {
    const std::size_t at = text.find(key);
    text.erase(at, text.find('\n', at) - at);
  }
  const auto cluster = read(text);
  ASSERT_TRUE(cluster.ok()) << to_text(cluster.error());
  EXPECT_EQ(cluster->memory_bytes_per_s, 0);
  EXPECT_EQ(cluster->host_bytes_per_s, 0);
  EXPECT_EQ(cluster->host_share_bytes(), 0);
}

TEST_F(ClusterFile, EveryMissingKeyIsNamed) {
  for (const std::string key :
       {"device_memory", "peak_flops", "achieved_flops", "inner", "outer"}) {
    std::string text = kWhole;
    const bool table = key == "inner" || key == "outer";
    const std::size_t at = text.find(table ? "[" + key : key);
    const std::size_t end = table ? text.find('[', at + 1) : text.find('\n', at) + 1;
    text.erase(at, end == std::string::npos ? end : end - at);
    const auto cluster = read(text);
    ASSERT_FALSE(cluster.ok()) << key;
    EXPECT_EQ(cluster.error().code, ErrorCode::kMissingKey) << key;
    EXPECT_EQ(cluster.error().where.key, key);
    EXPECT_EQ(cluster.error().where.file, path_);
  }
}

struct BadLine {
  const char* text;
  ErrorCode code;
  const char* key;
};

TEST_F(ClusterFile, NonsenseIsRefused) {
  for (const BadLine& bad :
       {BadLine{"gpu_memory = 3", ErrorCode::kUnknownKey, "gpu_memory"},
        {"device_memory = \"80 gigs\"", ErrorCode::kOutOfRange, "device_memory"},
        {"device_memory = 0", ErrorCode::kOutOfRange, "device_memory"},
        {"device_memory = true", ErrorCode::kWrongType, "device_memory"},
        {"memory_reserve = 1.0", ErrorCode::kOutOfRange, "memory_reserve"},
        {"memory_reserve = -0.1", ErrorCode::kOutOfRange, "memory_reserve"},
        {"peak_flops = 0", ErrorCode::kOutOfRange, "peak_flops"},
        {"peak_flops = nan", ErrorCode::kOutOfRange, "peak_flops"},
        {"achieved_flops = 1e15", ErrorCode::kConflictingKeys, "achieved_flops"},
        {"devices_per_node = 0", ErrorCode::kOutOfRange, "devices_per_node"},
        {"devices_per_node = 2.5", ErrorCode::kWrongType, "devices_per_node"},
        {"inner = 3", ErrorCode::kWrongType, "inner"},
        {"[inner]\nspeed = 3", ErrorCode::kUnknownKey, "inner.speed"},
        {"[outer]\nlatency_s = -1", ErrorCode::kOutOfRange, "outer.latency_s"}}) {
    SCOPED_TRACE(bad.text);
    const auto cluster = read(std::string("base = \"a100-80g\"\n") + bad.text);
    ASSERT_FALSE(cluster.ok());
    EXPECT_EQ(cluster.error().code, bad.code) << to_text(cluster.error());
    EXPECT_EQ(cluster.error().where.key, bad.key);
  }
  EXPECT_EQ(read("base = \"b100\"").error().code, ErrorCode::kUnknownPreset);
  EXPECT_EQ(read("base = ").error().code, ErrorCode::kMalformedToml);
}

TEST(CheckSizes, AcceptsSizesThatUseAllGpus) {
  EXPECT_TRUE(check_sizes({2, 4, 8}, 64, load("a100-80g")).ok());
  EXPECT_TRUE(check_sizes({1, 1, 1}, 1, load("a100-80g")).ok());
  EXPECT_TRUE(check_sizes({3, 2, 1}, 6, load("a100-80g")).ok());  // inside one node
}

std::string hint(const ParallelSizes& sizes, std::int64_t gpus) {
  const Status status = check_sizes(sizes, gpus, load("a100-80g"));
  EXPECT_FALSE(status.ok());
  if (status.ok()) return "";
  EXPECT_EQ(status.error().code, ErrorCode::kSizesDoNotDivide);
  return status.error().hint;
}

TEST(CheckSizes, NamesTheNearestSizesThatAreValid) {
  EXPECT_EQ(hint({2, 4, 8}, 60), "with tp 2 and pp 4, dp 7 uses 56 GPUs, dp 8 uses 64");
  EXPECT_EQ(hint({2, 4, 7}, 64), "with tp 2 and pp 4, dp 8 uses 64 GPUs");
  EXPECT_EQ(hint({8, 4, 1}, 16), "with tp 8 and pp 4, dp 1 uses 32 GPUs");
  EXPECT_THAT(hint({16, 1, 4}, 64), HasSubstr("tp 8"));
  EXPECT_THAT(hint({3, 2, 8}, 48), HasSubstr("tp 2 or tp 4"));
  EXPECT_NE(hint({0, 4, 8}, 64), "");
  EXPECT_NE(hint({2, 4, 8}, 0), "");
}

}  // namespace
}  // namespace omnibal::cluster
