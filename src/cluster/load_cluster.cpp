// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <filesystem>

#include "cluster/presets.h"
#include "omnibal/base/ascii.h"
#include "omnibal/base/nearest_name.h"
#include "omnibal/base/quantity.h"
#include "omnibal/cluster/cluster.h"
#include "omnibal/codec/toml.h"

namespace omnibal::cluster {
namespace {

using codec::Json;
using codec::JsonFields;

constexpr double kMaxRate = 1e21;
constexpr std::int64_t kMaxMemory = std::int64_t{1} << 50;

Result<ClusterSpec> preset(const std::string& name) {
  for (const ClusterSpec& known : known_clusters()) {
    if (known.name == lower_ascii(name)) return known;
  }
  const std::vector<std::string> names = cluster_presets();
  return Error(ErrorCode::kUnknownPreset,
               fmt::format("no cluster is called \"{}\"; the nearest is \"{}\"", name,
                           nearest_name(name, names)))
      .with_value(name)
      .with_hint(fmt::format("known: {}; or the path of a TOML file (docs/formats/cluster.md)",
                             fmt::join(names, ", ")));
}

/// A positive number, which must be given if it is `required`.
Status read_rate(const JsonFields& fields, std::string_view key, bool required, double& rate) {
  if (!required && !fields.has(key)) return {};
  OMNIBAL_ASSIGN(rate, fields.number(key, 1, kMaxRate));
  return {};
}

/// "80GiB", or a whole number of bytes.
Status read_memory(const Json& root, const JsonFields& fields, const std::string& file,
                   const std::string& key, bool required, std::int64_t& bytes) {
  if (!required && !fields.has(key)) return {};
  if (!fields.has(key) || !root[key].is_string()) {
    OMNIBAL_ASSIGN(bytes, fields.integer(key, 1, kMaxMemory));
    return {};
  }
  OMNIBAL_ASSIGN(const std::string text, fields.text(key));
  Result<std::int64_t> size = parse_bytes(text);
  if (size.ok() && *size >= 1 && *size <= kMaxMemory) {
    bytes = *size;
    return {};
  }
  return Error(ErrorCode::kOutOfRange, key + " is no size of a memory")
      .in_file(file)
      .at_key(key)
      .with_value(text)
      .with_limit(kMaxMemory)
      .with_hint("write " + key + " = \"80GiB\" or a whole number of bytes");
}

Status read_link(const JsonFields& fields, const std::string& file, std::string_view key,
                 bool required, Link& link) {
  if (!required && !fields.has(key)) return {};
  OMNIBAL_ASSIGN(const Json* table, fields.object(key));
  const JsonFields inside(*table, file, std::string(key));
  OMNIBAL_RETURN_IF_ERROR(inside.only({"bytes_per_s", "latency_s"}));
  OMNIBAL_RETURN_IF_ERROR(read_rate(inside, "bytes_per_s", required, link.bytes_per_s));
  OMNIBAL_ASSIGN(link.latency_s, inside.number_or("latency_s", link.latency_s, 0, 1));
  return {};
}

Status check_rates(const ClusterSpec& cluster, const std::string& file) {
  if (cluster.achieved_flops <= cluster.peak_flops) return {};
  return Error(ErrorCode::kConflictingKeys, "achieved_flops is above peak_flops")
      .in_file(file)
      .at_key("achieved_flops")
      .with_value(cluster.achieved_flops)
      .with_limit(cluster.peak_flops);
}

Result<ClusterSpec> read_cluster(const std::string& file) {
  OMNIBAL_ASSIGN(const Json root, codec::read_toml(file));
  const JsonFields fields(root, file);
  OMNIBAL_RETURN_IF_ERROR(
      fields.only({"name", "base", "device_memory", "memory_reserve", "peak_flops",
                   "achieved_flops", "memory_bytes_per_s", "host_bytes_per_s", "host_memory",
                   "devices_per_node", "inner", "outer"}));
  ClusterSpec cluster;
  const bool required = !fields.has("base");
  if (!required) {
    OMNIBAL_ASSIGN(const std::string base, fields.text("base"));
    Result<ClusterSpec> known = preset(base);
    if (!known.ok()) return std::move(known).error().in_file(file).at_key("base");
    cluster = *known;
  }
  const std::string stem = std::filesystem::path(file).stem().string();
  OMNIBAL_ASSIGN(cluster.name, fields.text_or("name", stem));
  OMNIBAL_RETURN_IF_ERROR(
      read_memory(root, fields, file, "device_memory", required, cluster.device_memory_bytes));
  OMNIBAL_ASSIGN(cluster.memory_reserve,
                 fields.number_or("memory_reserve", cluster.memory_reserve, 0, 0.9));
  OMNIBAL_RETURN_IF_ERROR(read_rate(fields, "peak_flops", required, cluster.peak_flops));
  OMNIBAL_RETURN_IF_ERROR(read_rate(fields, "achieved_flops", required, cluster.achieved_flops));
  OMNIBAL_RETURN_IF_ERROR(
      read_rate(fields, "memory_bytes_per_s", false, cluster.memory_bytes_per_s));
  OMNIBAL_RETURN_IF_ERROR(read_rate(fields, "host_bytes_per_s", false, cluster.host_bytes_per_s));
  OMNIBAL_RETURN_IF_ERROR(
      read_memory(root, fields, file, "host_memory", false, cluster.host_memory_bytes));
  OMNIBAL_ASSIGN(cluster.devices_per_node,
                 fields.integer_or("devices_per_node", cluster.devices_per_node, 1, 100000));
  OMNIBAL_RETURN_IF_ERROR(read_link(fields, file, "inner", required, cluster.inner));
  OMNIBAL_RETURN_IF_ERROR(read_link(fields, file, "outer", required, cluster.outer));
  OMNIBAL_RETURN_IF_ERROR(check_rates(cluster, file));
  return cluster;
}

}  // namespace

std::int64_t ClusterSpec::usable_bytes() const {
  const double reserve = static_cast<double>(device_memory_bytes) * memory_reserve;
  return device_memory_bytes - static_cast<std::int64_t>(std::ceil(reserve));
}

std::vector<std::string> cluster_presets() {
  std::vector<std::string> names;
  for (const ClusterSpec& known : known_clusters()) names.push_back(known.name);
  return names;
}

Result<ClusterSpec> load_cluster(const std::string& name_or_path) {
  const Result<ClusterSpec> known = preset(name_or_path);
  if (known.ok()) return known;
  std::error_code ignored;
  const bool is_path = name_or_path.find('/') != std::string::npos ||
                       name_or_path.ends_with(".toml") ||
                       std::filesystem::exists(name_or_path, ignored);
  return is_path ? read_cluster(name_or_path) : known;
}

}  // namespace omnibal::cluster
