// SPDX-License-Identifier: Apache-2.0
#include "omnibal/corpus/synth.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <span>

#include "corpus/loading.h"
#include "corpus/text_length.h"
#include "omnibal/base/parallel.h"
#include "omnibal/base/philox.h"

namespace omnibal::corpus {
namespace {

std::uint16_t draw_units(const std::vector<UnitChoice>& choices, double total, PhiloxRng& rng) {
  double left = rng.uniform() * total;
  for (const UnitChoice& choice : choices) {
    left -= choice.weight;
    if (left < 0) return choice.units;
  }
  return choices.back().units;  // rounding may leave a trace of the last weight
}

/// Draws the samples of one part, whose first has the index `first` among all drawn.
class PartDrawer {
 public:
  PartDrawer(const Part& part, const Recipe& recipe, std::uint64_t seed)
      : part_(part), recipe_(recipe), seed_(seed), text_(part.text) {
    for (const UnitChoice& choice : part.units) total_weight_ += choice.weight;
  }

  SampleLengths draw(std::int64_t index) const {
    PhiloxRng rng(seed_, RngStream::kSynthSample, static_cast<std::uint32_t>(index));
    SampleLengths sample{.vision = 1, .dummy_vision = 1};
    std::int64_t image_tokens = 0;
    if (!part_.units.empty()) {
      sample.vision = draw_units(part_.units, total_weight_, rng);
      sample.dummy_vision = 0;
      image_tokens = std::int64_t{recipe_.unit.llm_tokens} * sample.vision;
    }
    sample.tokens =
        static_cast<std::uint32_t>(std::min(recipe_.max_tokens, text_.draw(rng) + image_tokens));
    return sample;
  }

 private:
  const Part& part_;
  const Recipe& recipe_;
  std::uint64_t seed_;
  TextLengthSampler text_;
  double total_weight_ = 0;
};

/// All samples of a recipe in the order of its parts.
std::vector<SampleLengths> draw_all(const Recipe& recipe, std::uint64_t seed, int threads) {
  constexpr std::int64_t kGrain = 4096;
  std::vector<SampleLengths> samples(static_cast<std::size_t>(num_samples(recipe)));
  std::int64_t first = 0;
  for (const Dataset& dataset : recipe.datasets) {
    for (const Part& part : dataset.parts) {
      const PartDrawer drawer(part, recipe, seed);
      parallel_for(part.samples, kGrain, threads, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          samples[static_cast<std::size_t>(first + i)] = drawer.draw(first + i);
        }
      });
      first += part.samples;
    }
  }
  return samples;
}

std::int64_t num_samples(const Dataset& dataset) {
  return std::accumulate(dataset.parts.begin(), dataset.parts.end(), std::int64_t{0},
                         [](std::int64_t sum, const Part& part) { return sum + part.samples; });
}

void append_samples(Corpus& corpus, std::size_t source, std::span<const SampleLengths> samples) {
  for (std::size_t row = 0; row < samples.size(); ++row) {
    corpus.vision.push_back(samples[row].vision);
    corpus.dummy_vision.push_back(samples[row].dummy_vision);
    corpus.tokens.push_back(samples[row].tokens);
    corpus.supervised.push_back(estimate_supervised(corpus.unit, samples[row]));
    corpus.source.push_back(static_cast<std::uint16_t>(source));
    corpus.row.push_back(static_cast<std::uint32_t>(row));
  }
}

void reserve_samples(Corpus& corpus, std::size_t samples) {
  corpus.vision.reserve(samples);
  corpus.dummy_vision.reserve(samples);
  corpus.tokens.reserve(samples);
  corpus.supervised.reserve(samples);
  corpus.source.reserve(samples);
  corpus.row.reserve(samples);
}

__extension__ using Product = __int128;  // samples times samples

}  // namespace

std::int64_t num_samples(const Recipe& recipe) {
  std::int64_t sum = 0;
  for (const Dataset& dataset : recipe.datasets) sum += num_samples(dataset);
  return sum;
}

Recipe scale_recipe(Recipe recipe, std::int64_t samples) {
  assert(samples >= 1);
  const std::int64_t before = num_samples(recipe);
  struct Remainder {
    std::int64_t size;
    Part* part;
  };
  std::vector<Remainder> remainders;
  std::int64_t left = samples;
  for (Dataset& dataset : recipe.datasets) {
    for (Part& part : dataset.parts) {
      const Product share = Product{part.samples} * samples;
      part.samples = static_cast<std::int64_t>(share / before);
      left -= part.samples;
      remainders.push_back({static_cast<std::int64_t>(share % before), &part});
    }
  }
  std::stable_sort(remainders.begin(), remainders.end(),
                   [](const Remainder& a, const Remainder& b) { return a.size > b.size; });
  for (std::size_t i = 0; left > 0; ++i, --left) ++remainders[i].part->samples;
  return recipe;
}

Corpus synthesize(const Recipe& recipe, std::uint64_t seed, int threads) {
  std::vector<SampleLengths> samples = draw_all(recipe, seed, threads);
  Corpus corpus;
  corpus.unit = recipe.unit;
  reserve_samples(corpus, samples.size());
  std::size_t first = 0;
  for (std::size_t d = 0; d < recipe.datasets.size(); ++d) {
    const Dataset& dataset = recipe.datasets[d];
    const std::int64_t size = num_samples(dataset);
    const auto own = std::span(samples).subspan(first, static_cast<std::size_t>(size));
    if (dataset.parts.size() > 1) {
      PhiloxRng rng(seed, RngStream::kSynthShuffle, static_cast<std::uint32_t>(d));
      shuffle(own, rng);
    }
    corpus.sources.push_back(
        {.name = dataset.name, .path = "synth:" + recipe.name, .hash = "", .num_samples = size});
    append_samples(corpus, d, own);
    first += own.size();
  }
  return corpus;
}

}  // namespace omnibal::corpus
