# SPDX-License-Identifier: Apache-2.0
"""Small random models of transformers, and micro-batches for them: what the trainer's tests compare."""
import numpy as np
import torch
from transformers import (CLIPVisionConfig, InternVLConfig, InternVLForConditionalGeneration,
                          InternVLVisionConfig, LlamaConfig, LlavaConfig,
                          LlavaForConditionalGeneration, Qwen2Config, Qwen3Config)

torch.set_num_threads(1)

VOCABULARY = 97
IMAGE_TOKEN = 90
SIDE = 28  # pixels, of 4 x 4 patches
NO_LABEL = -100

TEXTS = {
    "qwen2": (Qwen2Config, {}),
    "qwen3": (Qwen3Config, {"head_dim": 16}),
    "qwen3-bias": (Qwen3Config, {"head_dim": 8, "attention_bias": True}),
    "llama": (LlamaConfig, {"rope_parameters": {"rope_type": "default", "rope_theta": 500000.0}}),
    "llama-bias": (LlamaConfig, {"attention_bias": True, "mlp_bias": True}),
}


def text_config(kind):
    make, changes = TEXTS[kind]
    return make(hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                num_key_value_heads=2, intermediate_size=48, vocab_size=VOCABULARY,
                pad_token_id=None, bos_token_id=None, eos_token_id=None, **changes)


def internvl(text="qwen2", tied=True, feature_layer=-1, **vision):
    tower = InternVLVisionConfig(hidden_size=24, num_hidden_layers=2, num_attention_heads=4,
                                 intermediate_size=40, image_size=SIDE, patch_size=7, **vision)
    return InternVLForConditionalGeneration(InternVLConfig(
        vision_config=tower, text_config=text_config(text), image_token_id=IMAGE_TOKEN,
        image_seq_length=4, vision_feature_layer=feature_layer, tie_word_embeddings=tied))


def llava(strategy="default", feature_layer=-2, tied=False):
    tower = CLIPVisionConfig(hidden_size=24, num_hidden_layers=3, num_attention_heads=4,
                             intermediate_size=40, image_size=SIDE, patch_size=7)
    return LlavaForConditionalGeneration(LlavaConfig(
        vision_config=tower, text_config=text_config("llama"), image_token_index=IMAGE_TOKEN,
        image_seq_length=16, vision_feature_select_strategy=strategy,
        vision_feature_layer=feature_layer, tie_word_embeddings=tied))


MODELS = {
    "internvl layer-norm bias qwen2 tied": lambda: internvl(attention_bias=True),
    "internvl layer-norm qk-norm qwen2 untied": lambda: internvl(tied=False, use_qk_norm=True),
    "internvl rms-norm qk-norm llama untied": lambda: internvl(
        "llama", tied=False, norm_type="rms_norm", use_qk_norm=True),
    "internvl rms-norm bias qwen3 tied": lambda: internvl(
        "qwen3", norm_type="rms_norm", attention_bias=True),
    "internvl final norm, no positions, qwen3 with bias": lambda: internvl(
        "qwen3-bias", tied=False, use_mean_pooling=False, use_absolute_position_embeddings=False,
        use_mask_token=True),
    "internvl llama with biases": lambda: internvl("llama-bias", use_qk_norm=True,
                                                   attention_bias=True),
    "internvl of the first block, final norm unused": lambda: internvl(
        feature_layer=-2, use_mean_pooling=False),
    "llava": llava,
    "llava full, last layer": lambda: llava("full", -1),
}


def make_model(name, seed=0):
    """Every parameter random, also those which transformers starts at zero or one."""
    torch.manual_seed(seed)
    model = MODELS[name]().train()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    return model


def file_name(name):
    """Of a parameter of a model in memory."""
    if name.startswith("model.language_model."):
        return "language_model.model." + name.removeprefix("model.language_model.")
    if name.startswith("lm_head."):
        return "language_model." + name
    return name.removeprefix("model.")


def unit_tokens(model):
    if model.config.model_type == "internvl":
        return 4
    return 16 if model.config.vision_feature_select_strategy == "default" else 17


def make_sample(rng, units, tokens, per_unit):
    """Ids with the places of `units` tiles among `tokens` words; labels of the later half."""
    ids = rng.integers(0, IMAGE_TOKEN, tokens).tolist()
    for place in sorted(rng.integers(0, tokens, units).tolist(), reverse=True):
        ids[place:place] = [IMAGE_TOKEN] * per_unit
    labels = [NO_LABEL] * len(ids)
    for i in range(len(ids) - 1):
        if ids[i + 1] != IMAGE_TOKEN and (i > len(ids) // 2 or rng.random() < 0.3):
            labels[i] = ids[i + 1]
    return {"ids": ids, "labels": labels,
            "pixels": rng.standard_normal((units, 3, SIDE, SIDE)).astype(np.float32)}


def pack(samples):
    """One micro-batch; each supervised token counts alike, all together 1."""
    lengths = [len(sample["ids"]) for sample in samples]
    labels = np.concatenate([sample["labels"] for sample in samples]).astype(np.int64)
    supervised = max(1, int((labels != NO_LABEL).sum()))
    return {"ids": np.concatenate([sample["ids"] for sample in samples]).astype(np.int64),
            "positions": np.concatenate([np.arange(length) for length in lengths]).astype(np.int64),
            "offsets": np.cumsum([0, *lengths]).astype(np.int64),
            "labels": labels,
            "weights": np.full(len(labels), 1 / supervised, np.float32),
            "pixels": np.concatenate([sample["pixels"] for sample in samples])}


def make_samples(per_unit, seed=0):
    rng = np.random.default_rng(seed)
    return {"text": make_sample(rng, 0, 19, per_unit), "one image": make_sample(rng, 1, 15, per_unit),
            "three images": make_sample(rng, 3, 23, per_unit)}


def make_batches(per_unit, seed=0):
    samples = make_samples(per_unit, seed)
    batches = {name: pack([sample]) for name, sample in samples.items()}
    batches["packed"] = pack([samples["one image"], samples["text"], samples["three images"],
                              samples["text"]])
    return batches


def reference(model, batch):
    """Loss and gradients (by file name; without gradient: zeros) of transformers."""
    model.zero_grad()
    pixels = torch.from_numpy(batch["pixels"]).to(model.dtype)
    ids = torch.from_numpy(batch["ids"])[None]
    labels = torch.from_numpy(batch["labels"])[None]
    loss = model(input_ids=ids, pixel_values=pixels if len(pixels) else None, use_cache=False,
                 position_ids=torch.from_numpy(batch["positions"])[None], labels=labels,
                 shift_labels=labels, num_items_in_batch=int((labels != NO_LABEL).sum())).loss
    loss.backward()
    return loss.item(), {
        file_name(name): (torch.zeros_like(parameter) if parameter.grad is None else parameter.grad)
        for name, parameter in model.named_parameters()}
