// SPDX-License-Identifier: Apache-2.0
#include "omnibal/corpus/mixture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cmath>
#include <numeric>
#include <set>

#include "omnibal/base/portable_math.h"

namespace omnibal::corpus {
namespace {

Error wrong(const std::string& key, std::string message, double value) {
  return Error(ErrorCode::kInvalidArgument, std::move(message)).at_key(key).with_value(value);
}

double natural_size(const SourceSize& size) { return size.rows * size.repeat; }

bool has_weights(std::span<const SourceSize> sizes) {
  return std::ranges::any_of(sizes, [](const SourceSize& size) { return size.weight != 1; });
}

/// (size / largest)^(1 / temperature): in (0, 1], 0 below e^-700.
double tempered(double size, double largest, double temperature) {
  constexpr double kLowest = -700;
  if (size == 0) return 0;
  if (temperature == 1) return size / largest;
  const double exponent = portable_log(size / largest) / temperature;
  return exponent < kLowest ? 0 : portable_exp(exponent);
}

/// What the shares are proportional to.
std::vector<double> masses(std::span<const SourceSize> sizes, const MixtureOptions& options) {
  double largest = 0;
  for (const SourceSize& size : sizes) largest = std::max(largest, natural_size(size));
  const bool weights_alone = has_weights(sizes) && !options.temperature;
  std::vector<double> result;
  for (const SourceSize& size : sizes) {
    const double of_size = tempered(natural_size(size), largest, options.temperature.value_or(1));
    result.push_back(weights_alone && size.rows > 0 ? size.weight : size.weight * of_size);
  }
  return result;
}

/// `total` in whole parts of these masses by largest remainder.
std::vector<std::int64_t> apportion(const std::vector<double>& masses, std::int64_t total) {
  const double sum = std::accumulate(masses.begin(), masses.end(), 0.0);
  std::vector<std::int64_t> parts;
  std::vector<double> remainders;
  std::int64_t left = total;
  for (const double mass : masses) {
    const double quota = static_cast<double>(total) * (mass / sum);
    parts.push_back(static_cast<std::int64_t>(quota));
    remainders.push_back(quota - std::floor(quota));
    left -= parts.back();
  }
  std::vector<std::size_t> order(masses.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(
      order, [&](std::size_t a, std::size_t b) { return remainders[a] > remainders[b]; });
  assert(left >= 0 && left <= static_cast<std::int64_t>(order.size()));
  for (std::size_t i = 0; left > 0; ++i, --left) ++parts[order[i]];
  return parts;
}

}  // namespace

Result<SourceWeight> parse_source_weight(const std::string& text) {
  const std::size_t mark = text.rfind('=');
  SourceWeight parsed;
  if (mark != std::string::npos && mark > 0) {
    parsed.source = text.substr(0, mark);
    const char* end = text.data() + text.size();
    const auto [rest, problem] = std::from_chars(text.data() + mark + 1, end, parsed.weight);
    if (problem == std::errc() && rest == end) return parsed;
  }
  return Error(ErrorCode::kInvalidArgument, "a weight is written source=number")
      .at_key("weights")
      .with_value(text)
      .with_hint("for example ai2d=0.3,docs=0.7");
}

Status check_mixture(const MixtureOptions& options) {
  std::set<std::string> named;
  for (const SourceWeight& weight : options.weights) {
    const std::string key = "weights." + weight.source;
    // Not the other way round: NaN fails every comparison.
    if (!(weight.weight >= kSmallestWeight && weight.weight <= kLargestWeight)) {
      return wrong(key, "a weight must be a number above 0 (from 1e-9 to 1e9)", weight.weight)
          .with_hint("leave the input away to use nothing of it");
    }
    if (!named.insert(weight.source).second) {
      return wrong(key, "a source has two weights", weight.weight);
    }
  }
  const double temperature = options.temperature.value_or(1);
  if (!std::isfinite(temperature) || temperature <= 0) {
    return wrong("temperature", "the temperature must be a number above 0", temperature)
        .with_hint("1 keeps the sources' own sizes, larger values make shares more equal");
  }
  const std::int64_t samples = options.epoch_samples.value_or(1);
  if (samples >= 1 && samples <= INT32_MAX) return {};
  return Error(ErrorCode::kInvalidArgument, "an epoch has from 1 to 2^31 - 1 samples")
      .at_key("epoch_samples")
      .with_value(samples);
}

std::int64_t natural_samples(const SourceSize& size) {
  return static_cast<std::int64_t>(std::floor(natural_size(size) + 0.5));
}

bool is_drawn(std::span<const SourceSize> sizes, const MixtureOptions& options) {
  return options.temperature || options.epoch_samples || has_weights(sizes);
}

std::vector<std::int64_t> samples_of_sources(std::span<const SourceSize> sizes,
                                             const MixtureOptions& options) {
  if (options.epoch_samples) return apportion(masses(sizes, options), *options.epoch_samples);
  std::vector<std::int64_t> natural;
  for (const SourceSize& size : sizes) natural.push_back(natural_samples(size));
  if (!is_drawn(sizes, options)) return natural;
  const std::int64_t total = std::accumulate(natural.begin(), natural.end(), std::int64_t{0});
  return apportion(masses(sizes, options), total);
}

}  // namespace omnibal::corpus
