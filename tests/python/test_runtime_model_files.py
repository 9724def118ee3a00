# SPDX-License-Identifier: Apache-2.0
"""Configurations and weights as the trainer reads and writes them."""
import json
import shutil

import pytest

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch", reason="torch is not installed (requirements-runtime.txt)")
pytest.importorskip("transformers", reason="transformers is not installed (requirements-runtime.txt)")
import safetensors.torch  # noqa: E402
from transformers import AutoModelForImageTextToText  # noqa: E402

import small_models  # noqa: E402
from test_runtime_model import compute, probe, pytestmark, refused  # noqa: E402, F401

INTERNVL = "internvl final norm, no positions, qwen3 with bias"
TIED = "internvl layer-norm bias qwen2 tied"


def save(name, folder, **options):
    model = small_models.make_model(name)
    model.save_pretrained(folder, **options)
    return model


def weights_of(folder):
    return safetensors.torch.load_file(folder / "model.safetensors")


def write_weights(folder, weights):
    safetensors.torch.save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def logits(model, batch):
    pixels = torch.from_numpy(batch["pixels"])
    with torch.no_grad():
        return model(input_ids=torch.from_numpy(batch["ids"])[None], pixel_values=pixels,
                     position_ids=torch.from_numpy(batch["positions"])[None],
                     use_cache=False).logits


def save_with_probe(source, target):
    target.mkdir()
    done = probe("save", source, "f32", target)
    assert done.returncode == 0, done.stderr
    shutil.copy(source / "config.json", target)


@pytest.mark.parametrize("name", small_models.MODELS)
def test_what_we_write_transformers_opens(tmp_path, name):
    model = save(name, tmp_path / "in")
    save_with_probe(tmp_path / "in", tmp_path / "out")
    assert weights_of(tmp_path / "out").keys() == weights_of(tmp_path / "in").keys()
    opened, report = AutoModelForImageTextToText.from_pretrained(tmp_path / "out",
                                                                 output_loading_info=True)
    assert not report["missing_keys"] and not report["unexpected_keys"]
    batch = small_models.make_batches(small_models.unit_tokens(model))["packed"]
    assert torch.equal(logits(opened, batch), logits(model, batch))


@pytest.mark.parametrize("name", [INTERNVL, TIED, "llava"])
def test_other_names_and_shards_are_read(tmp_path, name):
    model = save(name, tmp_path / "plain")
    batches = small_models.make_batches(small_models.unit_tokens(model))
    expected = {key: loss for key, (loss, _) in compute(tmp_path / "plain", batches).items()}
    save(name, tmp_path / "shards", max_shard_size="20KB")
    assert (tmp_path / "shards" / "model.safetensors.index.json").exists()
    for folder, weights in {
        "memory": {key: value.contiguous().clone() for key, value in model.state_dict().items()},
        "old tower": {key.replace("vision_tower.", "vision_tower.vision_model."): value
                      for key, value in weights_of(tmp_path / "plain").items()},
    }.items():
        (tmp_path / folder).mkdir()
        shutil.copy(tmp_path / "plain" / "config.json", tmp_path / folder)
        write_weights(tmp_path / folder, weights)
    for folder in ["shards", "memory", "old tower"]:
        found = {key: loss for key, (loss, _) in compute(tmp_path / folder, batches).items()}
        assert found == expected, folder


def test_weights_that_do_not_fit_are_named(tmp_path):
    save(TIED, tmp_path)
    good = weights_of(tmp_path)
    key = "language_model.model.layers.1.mlp.up_proj.weight"

    def problem(**changes):
        write_weights(tmp_path, {name: value for name, value in {**good, **changes}.items()
                                 if value is not None})
        return refused("save", tmp_path, "f32", tmp_path)

    name, text = problem(**{key: good[key].T.contiguous()})
    assert name == "conflicting_keys" and key in text and "[32, 48]" in text and "[48, 32]" in text
    name, text = problem(**{key: None, "vision_tower.embeddings.cls_token": None})
    assert name == "missing_tensor" and "cls_token" in text and "2 in all" in text
    name, text = problem(**{"language_model.model.layers.2.mlp.up_proj.weight": good[key].clone()})
    assert name == "unknown_key" and "layers.2.mlp.up_proj.weight" in text
    name, text = problem(**{key: good[key].to(torch.int32)})
    assert name == "wrong_type" and key in text
    name, text = problem(**{"language_model.lm_head.weight": torch.zeros(97, 32)})
    assert name == "conflicting_keys" and "tie_word_embeddings" in text


CHANGES = [
    ("", "model_type", "qwen2_vl", "internvl, llava"),
    ("", "projector_hidden_act", "relu", "gelu"),
    ("", "vision_feature_select_strategy", "full", "default"),
    ("", "quantization_config", {"bits": 4}, ""),
    ("", "image_token_id", 97, "97"),
    ("vision_config", "hidden_act", "gelu_new", "gelu, quick_gelu"),
    ("vision_config", "norm_type", "group_norm", "layer_norm, rms_norm"),
    ("vision_config", "hidden_dropout_prob", 0.1, "0"),
    ("vision_config", "attention_dropout", 0.1, "0"),
    ("vision_config", "projection_dropout", 0.5, "0"),
    ("vision_config", "num_channels", 1, "3"),
    ("text_config", "model_type", "gemma2", "qwen2, qwen3, llama"),
    ("text_config", "hidden_act", "gelu", "silu"),
    ("text_config", "attention_dropout", 0.1, "0"),
    ("text_config", "layer_types", ["full_attention", "sliding_attention"], "full_attention"),
    ("text_config", "rope_parameters", {"rope_type": "yarn", "factor": 4.0}, "default"),
    ("text_config", "rope_scaling", {"type": "linear", "factor": 2.0}, "default"),
    ("text_config", "rope_parameters", {"partial_rotary_factor": 0.5}, "1"),
    ("text_config", "head_dim", 7, ""),
]


@pytest.mark.parametrize("part, key, value, supported", CHANGES)
def test_what_is_not_computed_is_refused_by_name(tmp_path, part, key, value, supported):
    save(INTERNVL, tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (config[part] if part else config)[key] = value
    (tmp_path / "config.json").write_text(json.dumps(config))
    _, text = refused("save", tmp_path, "f32", tmp_path)
    inner = next(iter(value)) if isinstance(value, dict) and key.startswith("rope") else key
    assert "config.json" in text and (key in text or inner in text) and supported in text
    if isinstance(value, str | int | float):
        assert str(value) in text


def test_sliding_windows_count_only_where_a_block_has_them(tmp_path):
    save(TIED, tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    del config["text_config"]["layer_types"]
    config["text_config"].update(use_sliding_window=True, sliding_window=8, max_window_layers=2)
    (tmp_path / "config.json").write_text(json.dumps(config))
    save_with_probe(tmp_path, tmp_path / "out")
    config["text_config"]["max_window_layers"] = 1
    (tmp_path / "config.json").write_text(json.dumps(config))
    name, text = refused("save", tmp_path, "f32", tmp_path)
    assert name == "unsupported_model" and "use_sliding_window" in text


def test_rotary_base_is_read_where_transformers_reads_it(tmp_path):
    model = save("llava", tmp_path)
    batches = small_models.make_batches(small_models.unit_tokens(model))
    expected = {name: loss for name, (loss, _) in compute(tmp_path, batches).items()}
    config = json.loads((tmp_path / "config.json").read_text())
    for old in [{"rope_theta": 500000.0}, {"rope_theta": 500000.0, "rope_scaling": None}]:
        config["text_config"].pop("rope_parameters", None)
        config["text_config"].update(old)
        (tmp_path / "config.json").write_text(json.dumps(config))
        assert {name: loss for name, (loss, _) in compute(tmp_path, batches).items()} == expected
    del config["text_config"]["rope_theta"]  # 10000
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert {name: loss for name, (loss, _) in compute(tmp_path, batches).items()} != expected
