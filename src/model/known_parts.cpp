// SPDX-License-Identifier: Apache-2.0
#include "model/known_parts.h"

#include <array>
#include <vector>

#include "omnibal/base/ascii.h"

namespace omnibal::model {
namespace {

VisionTower tower_of_336_pixels(VisionTower tower) {
  tower.image_size = 336;
  tower.patches_per_unit = 576;
  tower.tokens_per_unit = 577;
  tower.attended_tokens = 577;
  return tower;
}

/// Shapes of the paper's tables; biases and norms from the released models: InternVL's
/// modeling_intern_vit.py, "EVA-CLIP-18B" (arXiv 2402.04252: the 18B without qkv bias, with
/// RMSNorm), OpenAI's CLIP.
std::vector<KnownTower> make_towers() {
  VisionTower intern_6b{
      .name = "internvit-6b", .num_layers = 45, .width = 3200, .num_heads = 25, .mlp_width = 12800};
  intern_6b.qkv_bias = false;
  intern_6b.qk_norm = true;
  intern_6b.layer_scale = true;
  intern_6b.norm_bias = false;
  VisionTower intern_300m{.name = "internvit-300m",
                          .num_layers = 24,
                          .width = 1024,
                          .num_heads = 16,
                          .mlp_width = 4096};
  intern_300m.layer_scale = true;
  VisionTower eva_8b{
      .name = "eva-clip-8b", .num_layers = 32, .width = 4096, .num_heads = 32, .mlp_width = 20480};
  VisionTower eva_18b{
      .name = "eva-clip-18b", .num_layers = 48, .width = 5120, .num_heads = 40, .mlp_width = 25600};
  eva_18b.qkv_bias = false;
  eva_18b.norm_bias = false;
  VisionTower clip_l = tower_of_336_pixels({.name = "clip-vit-l-14-336",
                                            .num_layers = 24,
                                            .width = 1024,
                                            .num_heads = 16,
                                            .mlp_width = 4096});
  clip_l.patch_bias = false;
  clip_l.pre_norm = true;
  return {{intern_6b}, {intern_300m}, {eva_8b}, {eva_18b}, {clip_l, false}};
}

struct LlmRow {
  std::string_view name;
  std::int64_t layers, width, heads, kv_heads, mlp_width, vocabulary;
  bool tied = false;
  bool qkv_bias = false;
};

constexpr std::array kLlmRows = {
    LlmRow{"internlm2-20b", 48, 6144, 48, 8, 16384, 92544},
    LlmRow{"yi-34b", 60, 7168, 56, 8, 20480, 64000},
    LlmRow{"llama3-8b", 32, 4096, 32, 8, 14336, 128256},
    LlmRow{"llama3-70b", 80, 8192, 64, 8, 28672, 128256},
    LlmRow{"qwen1.5-110b", 80, 8192, 64, 8, 49152, 152064, false, true},
    LlmRow{"qwen2.5-0.5b", 24, 896, 14, 2, 4864, 151936, true, true},
};

std::vector<LanguageModel> make_language_models() {
  std::vector<LanguageModel> models;
  for (const LlmRow& row : kLlmRows) {
    models.push_back({.name = std::string(row.name),
                      .num_layers = row.layers,
                      .width = row.width,
                      .num_heads = row.heads,
                      .num_kv_heads = row.kv_heads,
                      .head_width = row.width / row.heads,
                      .mlp_width = row.mlp_width,
                      .vocabulary = row.vocabulary,
                      .tied_embedding = row.tied,
                      .qkv_bias = row.qkv_bias});
  }
  return models;
}

/// Releases whose language model has exactly the shape of a part above.
constexpr std::array kPresets = {
    Preset{"internvl-chat-1.5-26b", "internvit-6b", "internlm2-20b"},
    Preset{"internvl-chat-1.2-40b", "internvit-6b", "yi-34b"},
    Preset{"internvl2-26b", "internvit-6b", "internlm2-20b"},
    Preset{"internvl2-40b", "internvit-6b", "yi-34b"},
    Preset{"internvl2-llama3-76b", "internvit-6b", "llama3-70b"},
    Preset{"internvl2.5-26b", "internvit-6b", "internlm2-20b"},
};

}  // namespace

std::span<const KnownTower> known_towers() {
  static const std::vector<KnownTower> kTowers = make_towers();
  return kTowers;
}

std::span<const LanguageModel> known_language_models() {
  static const std::vector<LanguageModel> kModels = make_language_models();
  return kModels;
}

std::span<const Preset> known_presets() { return kPresets; }

std::string canonical_name(std::string_view name) {
  std::string text = lower_ascii(name);
  constexpr std::string_view kSuffix = "-448px";
  if (text.ends_with(kSuffix)) text.resize(text.size() - kSuffix.size());
  return text;
}

Projector projector_of(const VisionTower& tower, bool pixel_shuffle, std::int64_t llm_width) {
  const std::int64_t merged = pixel_shuffle ? 4 : 1;
  Projector projector;
  projector.input_width = merged * tower.width;
  projector.hidden_width = llm_width;
  projector.output_width = llm_width;
  projector.tokens_per_unit = static_cast<double>(tower.patches_per_unit / merged);
  projector.input_norm = pixel_shuffle;
  projector.norm_parameters = pixel_shuffle ? 2 * projector.input_width : 0;
  return projector;
}

}  // namespace omnibal::model
