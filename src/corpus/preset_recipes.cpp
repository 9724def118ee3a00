// SPDX-License-Identifier: Apache-2.0
//
// The recipes that come with the program, as tables. What each approximates:
// docs/formats/corpus.md.
#include <fmt/format.h>

#include "omnibal/corpus/synth.h"

namespace omnibal::corpus {
namespace {

using Units = std::vector<UnitChoice>;

/// A CLIP ViT-L/14 picture of 336 pixels: 24 x 24 patches and the class token, which the language
/// model does not see.
const VisionUnit kClip336 = {.name = "image-336", .vision_tokens = 577, .llm_tokens = 576};

const Units kCocoTiles = {{1, .52}, {3, .47}, {5, .01}};
const Units kGqaTiles = {{1, .36}, {3, .30}, {4, .01}, {5, .33}};
const Units kOneImage = {{1, 1.}};

constexpr TextLength kCaption = {270, 60, 120, 700};
constexpr TextLength kDialogue = {310, 150, 45, 1500};
constexpr TextLength kShortAnswer = {120, 50, 45, 600};
constexpr TextLength kBookCover = {217, 80, 45, 900};
constexpr TextLength kRegion = {403, 180, 45, 1500};

/// The 1.2 M samples of InternVL-Chat-1.5's instruction tuning, fitted to the figures of OmniBal's
/// Table 3 (arXiv 2407.20761): tiles of dynamic tiling with at most four and a thumbnail.
Recipe internvl_1_2m() {
  const auto alone = [](std::string name, std::int64_t samples, Units units, TextLength text) {
    return Dataset{name, {{name, samples, std::move(units), text}}};
  };
  return {
      .name = "internvl-1.2m",
      .unit = {},
      .datasets = {
          alone("ai2d", 12'413, {{1, .467}, {3, .299}, {4, .049}, {5, .186}}, {54, 13, 37, 347}),
          alone("chartqa", 18'317, {{1, .032}, {3, .060}, {4, .001}, {5, .908}}, {89, 64, 33, 552}),
          alone("docvqa", 10'211, {{1, .001}, {3, .186}, {4, .003}, {5, .810}},
                {282, 196, 53, 1258}),
          alone("synthdog", 29'765, {{3, .580}, {5, .420}}, {120, 49, 36, 503}),
          alone("dvqa", 200'000, kOneImage, {310, 120, 80, 1500}),
          alone("geoqa+", 72'318, {{1, .50}, {3, .38}, {4, .04}, {5, .08}}, {115, 35, 50, 400}),
          alone("llava-zh", 157'712, kCocoTiles, {210, 110, 60, 1200}),
          {"sharegpt4v-100k",
           {{"coco", 51'000, kCocoTiles, kCaption},
            {"sam", 20'000, {{3, .45}, {5, .55}}, kCaption},
            {"lcs", 31'025, {{1, .75}, {3, .22}, {5, .03}}, kCaption}}},
          {"mix",
           {{"coco", 364'000, kCocoTiles, kDialogue},
            {"gqa", 72'140, kGqaTiles, kDialogue},
            {"ocrvqa", 80'000, {{1, .20}, {3, .77}, {5, .03}}, kBookCover},
            {"textvqa", 21'953, {{3, .25}, {5, .75}}, kShortAnswer},
            {"vg", 86'277, kGqaTiles, kRegion},
            {"text only", 40'688, {}, {1000, 900, 40, 4096}}}},
      }};
}

/// LLaVA-1.5's instruction mix by the origin of its pictures, one picture a sample.
Recipe llava_665k() {
  return {.name = "llava-665k",
          .unit = kClip336,
          .max_tokens = 2048,
          .datasets = {{"llava-665k",
                        {{"coco", 364'100, kOneImage, kDialogue},
                         {"gqa", 72'140, kOneImage, kDialogue},
                         {"ocrvqa", 80'000, kOneImage, kBookCover},
                         {"textvqa", 21'953, kOneImage, kShortAnswer},
                         {"vg", 86'417, kOneImage, kRegion},
                         {"text only", 40'688, {}, {1000, 900, 40, 2048}}}}}};
}

/// LLaVA's alignment set: a picture and one short caption.
Recipe lcs_558k() {
  return {.name = "lcs-558k",
          .unit = kClip336,
          .max_tokens = 2048,
          .datasets = {{"lcs-558k", {{"lcs", 558'128, kOneImage, {18, 9, 4, 120}}}}}};
}

struct Preset {
  std::string_view name;
  Recipe (*make)();
};

constexpr Preset kPresets[] = {
    {"internvl-1.2m", internvl_1_2m}, {"llava-665k", llava_665k}, {"lcs-558k", lcs_558k}};

}  // namespace

std::vector<std::string> preset_recipe_names() {
  std::vector<std::string> names;
  for (const Preset& preset : kPresets) names.emplace_back(preset.name);
  return names;
}

Result<Recipe> preset_recipe(std::string_view name) {
  for (const Preset& preset : kPresets) {
    if (preset.name == name) return preset.make();
  }
  return Error(ErrorCode::kUnknownPreset, fmt::format("there is no preset \"{}\"", name))
      .with_value(std::string(name))
      .with_hint(fmt::format("presets: {}", fmt::join(preset_recipe_names(), ", ")));
}

}  // namespace omnibal::corpus
