// SPDX-License-Identifier: Apache-2.0
//
// ModelSpec: a vision-language model as the planner sees it: shapes of its parts, and the ordered
// layers that a pipeline cut may separate (ViT blocks with the patch embedding folded into the
// first, projector, token embedding, LLM blocks, head).
//
//   OMNIBAL_ASSIGN(ModelSpec model, load_model("internvl-chat-1.5-26b"));
//   OMNIBAL_RETURN_IF_ERROR(freeze(model, "vision"));
//   model.layers[44].name;   // "vision.44"
//
// Not weights, and not costs: room cost turns shapes into FLOPs and bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "omnibal/base/result.h"

namespace omnibal::model {

enum class LayerKind {
  kPatchEmbedding,
  kVisionBlock,
  kProjector,
  kTokenEmbedding,
  kLlmBlock,
  kHead
};

/// "vision_block" and so on, as in profile files.
std::string_view to_string(LayerKind kind);
/// Of the tower or the projector.
constexpr bool is_vision(LayerKind kind) { return kind <= LayerKind::kProjector; }
/// Error: kOutOfRange, naming the accepted words.
Result<LayerKind> parse_layer_kind(std::string_view text);

struct Layer {
  std::string name;  // "vision.0", "llm.47"
  LayerKind kind = LayerKind::kLlmBlock;
  bool trainable = true;                // anything in it
  std::int64_t parameters = 0;          // of the whole layer, not a tensor-parallel shard
  std::int64_t adapter_parameters = 0;  // among them; above 0: only they train
};

/// The linear layers of a block that may carry an adapter.
enum class AdapterTarget {
  kQuery,
  kKey,
  kValue,
  kQueryKeyValue,  // one adapter on the fused projection, as InternViT and InternLM2 store it
  kOutput,
  kGate,  // of gated MLPs
  kUp,    // the first layer of an MLP without gate
  kDown
};

/// Low-rank adapters (LoRA, arXiv 2106.09685) beside linear layers of a part's blocks: y = W x + B
/// (A x), A [rank, in] and B [out, rank] trained, everything else of the part frozen. Dropout
/// before A is not counted.
struct Adapters {
  std::int64_t rank = 0;  // 0: none
  std::vector<AdapterTarget> targets = {};

  bool on(AdapterTarget target) const;
};

/// A vision unit is a square tile for towers with a fixed input size, one patch for
/// native-resolution towers (`image_size` 0), whose images have any number of patches.
struct VisionTower {
  std::string name;
  std::int64_t num_layers = 0;
  std::int64_t width = 0;
  std::int64_t num_heads = 0;
  std::int64_t mlp_width = 0;
  std::int64_t patch_size = 14;          // pixels
  std::int64_t patch_inputs = 588;       // numbers the embedding reads for a patch: 3 * 14 * 14
  std::int64_t image_size = 448;         // pixels a side of a tile; 0: native resolution
  std::int64_t patches_per_unit = 1024;  // 1 at native resolution
  std::int64_t tokens_per_unit = 1025;   // with the class token where there is one
  std::int64_t attended_tokens = 1025;   // by a token: its tile, or a reference image's patches
  std::int64_t window_tokens = 0;        // of a windowed block; 0: no windows
  std::vector<std::int64_t> full_blocks = {};  // with windows: the blocks that attend everything
  bool class_token = true;
  bool position_embedding = true;  // learnt; false: rotary
  bool patch_bias = true;
  bool pre_norm = false;   // a norm between embedding and first block (CLIP)
  bool gated_mlp = false;  // three matrices instead of two
  bool qkv_bias = true;
  bool qk_norm = false;  // over the whole width
  bool layer_scale = false;
  bool norm_bias = true;  // LayerNorm; false: RMSNorm
  bool trainable = true;
  Adapters adapters = {};  // of the blocks
};

struct LanguageModel {
  std::string name;
  std::int64_t num_layers = 0;
  std::int64_t width = 0;
  std::int64_t num_heads = 0;
  std::int64_t num_kv_heads = 0;
  std::int64_t head_width = 0;
  std::int64_t mlp_width = 0;  // SwiGLU: three matrices
  std::int64_t vocabulary = 0;
  bool tied_embedding = false;
  bool qkv_bias = false;
  bool out_bias = false;  // of attention's output projection
  bool mlp_bias = false;
  bool qk_norm = false;  // over one head's width
  bool trainable = true;
  Adapters adapters = {};  // of the blocks
};

/// Two linear layers from the (shuffled or merged) vision tokens to LLM tokens.
struct Projector {
  std::int64_t input_width = 0;  // after pixel shuffle or patch merging
  std::int64_t hidden_width = 0;
  std::int64_t output_width = 0;
  double tokens_per_unit =
      256;  // LLM tokens of a vision unit; 1/4 if a unit is one of four patches
  bool input_norm = true;
  std::int64_t norm_parameters = 0;
  bool bias = true;
  bool trainable = true;
};

/// What a block is taken to keep for its backward beside its matrices' inputs.
enum class KeptCount {
  kAutograd,  // what PyTorch keeps of the modules of transformers: inputs of LayerScale and qk-norm
  kPaper      // 34 s b h (Korthikanti et al., arXiv 2205.05198), the paper's: dropout masks instead
};

struct ModelSpec {
  std::string name;
  VisionTower vision;
  Projector projector;
  LanguageModel language;
  std::vector<Layer> layers;
  KeptCount kept = KeptCount::kAutograd;  // presets: kPaper, so that its tables can be checked

  /// Of all layers; a tied embedding counts once.
  std::int64_t parameters() const;
};

/// A preset ("internvl-chat-1.5-26b"), a pair "VISION+LLM" of known parts
/// ("internvit-6b+internlm2-20b"), both in any case, or the path of a Hugging Face config.json (or
/// of its directory). Errors: kUnknownPreset (with the nearest name), kFileNotFound,
/// kUnsupportedModel (naming the accepted model types), kMissingKey, kWrongType, kOutOfRange,
/// kConflictingKeys.
Result<ModelSpec> load_model(const std::string& name_or_path);

/// Freezes "vision", "llm" or "projector"; adapters keep training. Error: kInvalidArgument.
Status freeze(ModelSpec& model, std::string_view part);

/// Freezes "vision" or "llm" and puts adapters beside the linear layers of its blocks. `targets`:
/// words of adapter_targets(); what the blocks do not have (the gate of an MLP without) is left
/// out. Errors: kInvalidArgument (another part or word, a rank below 1, the fused projection beside
/// one of its parts, no target that the blocks have).
Status add_adapters(ModelSpec& model, std::string_view part, std::int64_t rank,
                    std::span<const std::string> targets);
/// "all", "attention" (q, k, v, o), "mlp" (gate, up, down), and each of them; "qkv".
std::vector<std::string> adapter_targets();
/// "q", "k", ...
std::vector<std::string> target_names(const Adapters& adapters);

/// Names of all presets, vision towers and language models, for help and completion.
std::vector<std::string> model_presets();
std::vector<std::string> vision_tower_names();
std::vector<std::string> language_model_names();

}  // namespace omnibal::model
