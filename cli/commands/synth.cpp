// SPDX-License-Identifier: Apache-2.0
//
// omnibal synth: a corpus of lengths drawn from a recipe.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "cli/command.h"
#include "omnibal/base/version.h"
#include "omnibal/codec/hash.h"
#include "omnibal/corpus/synth.h"

namespace omnibal::cli {
namespace {

struct SynthOptions {
  std::string preset;
  std::string recipe;
  std::optional<std::int64_t> samples;
  std::string out;
};

Result<corpus::Recipe> chosen_recipe(const SynthOptions& options) {
  if (options.preset.empty() == options.recipe.empty()) {
    return Error(ErrorCode::kInvalidArgument, "give either --preset or --recipe")
        .with_hint(fmt::format("presets: {}", fmt::join(corpus::preset_recipe_names(), ", ")));
  }
  OMNIBAL_ASSIGN(corpus::Recipe recipe, options.preset.empty()
                                            ? corpus::read_recipe(options.recipe)
                                            : corpus::preset_recipe(options.preset));
  return options.samples ? corpus::scale_recipe(std::move(recipe), *options.samples) : recipe;
}

Result<codec::Json> provenance_of(const SynthOptions& options, std::uint64_t seed) {
  codec::Json chosen = codec::Json::object();
  codec::Json inputs = codec::Json::array();
  if (options.preset.empty()) {
    OMNIBAL_ASSIGN(const std::string hash, codec::hash_file(options.recipe));
    chosen["recipe"] = options.recipe;
    inputs.push_back({{"path", options.recipe}, {"hash", hash}});
  } else {
    chosen["preset"] = options.preset;
  }
  if (options.samples) chosen["samples"] = *options.samples;
  return codec::Json{{"tool", fmt::format("omnibal {}", version())},
                     {"options", chosen},
                     {"seed", seed},
                     {"inputs", inputs}};
}

Result<Output> run_synth(const SynthOptions& options, const Context& context) {
  OMNIBAL_ASSIGN(const corpus::Recipe recipe, chosen_recipe(options));
  OMNIBAL_ASSIGN(const codec::Json provenance, provenance_of(options, context.seed));
  const corpus::Corpus made = corpus::synthesize(recipe, context.seed, context.threads);
  OMNIBAL_RETURN_IF_ERROR(corpus::write_corpus(made, options.out, provenance));
  Output output;
  output.json = {{"samples", made.size()}, {"out", options.out}};
  output.text =
      fmt::format("{} samples of {} written to {}\n", made.size(), recipe.name, options.out);
  return output;
}

}  // namespace

Command make_synth_command() {
  const auto options = std::make_shared<SynthOptions>();
  return {.name = "synth",
          .summary = "Make a corpus of lengths from a recipe",
          .description =
              "Draws the vision units and tokens of every sample from a recipe: one of the "
              "presets, or a TOML file of your own (docs/formats/corpus.md). The same seed "
              "gives the same corpus on every machine.",
          .example =
              "omnibal synth --preset internvl-1.2m --out corpus\n"
              "omnibal synth --preset llava-665k --samples 10000 --out small\n"
              "omnibal synth --recipe mine.toml --out corpus",
          .flags = {{.name = "--preset",
                     .target = &options->preset,
                     .help = "Recipe that comes with the program",
                     .value_name = "NAME",
                     .choices = corpus::preset_recipe_names()},
                    {.name = "--recipe",
                     .target = &options->recipe,
                     .help = "Recipe of your own, instead of a preset",
                     .value_name = "FILE"},
                    {.name = "--samples",
                     .target = &options->samples,
                     .help = "Number of samples; parts keep their shares, by largest remainder",
                     .value_name = "N",
                     .min = 1,
                     .max = INT32_MAX},
                    {.name = "--out",
                     .target = &options->out,
                     .help = "Corpus directory to write",
                     .value_name = "DIR",
                     .required = true}},
          .run = [options](const Context& context) { return run_synth(*options, context); }};
}

}  // namespace omnibal::cli
