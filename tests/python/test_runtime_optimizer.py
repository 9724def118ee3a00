# SPDX-License-Identifier: Apache-2.0
"""The trainer's optimizer against torch.optim.AdamW, clip_grad_norm_ and transformers."""
import os
import subprocess

import pytest
from conftest import ROOT

torch = pytest.importorskip("torch", reason="torch is not installed (requirements-runtime.txt)")
transformers = pytest.importorskip("transformers")
import safetensors.torch  # noqa: E402

PROBE = ROOT / os.environ.get("OMNIBAL_OPTIMIZER_PROBE", "build/runtime/bin/omnibal_optimizer_probe")
pytestmark = pytest.mark.skipif(not PROBE.exists(), reason="the trainer is not built (preset runtime)")

STEPS, SAMPLES, WARMUP, LR, DECAY = 10, 4, 3, 2e-2, 0.1
SHAPES = {
    "vision_tower.encoder.layer.0.layernorm_before.weight": (17,),
    "vision_tower.encoder.layer.0.attention.q_proj.weight": (13, 17),
    "multi_modal_projector.linear_1.bias": (13,),
    "language_model.model.embed_tokens.weight": (31, 5),
    "language_model.model.layers.0.mlp.up_proj.weight": (3, 67),
    "language_model.model.norm.weight": (1,),
}


def problem(dtype):
    generator = torch.Generator().manual_seed(7)
    weights = {name: torch.randn(shape, generator=generator, dtype=dtype)
               for name, shape in SHAPES.items()}
    gradients = {(step, sample, name): torch.randn(shape, generator=generator, dtype=dtype) * 3 ** (step % 4)
                 for step in range(STEPS) for sample in range(SAMPLES) for name, shape in SHAPES.items()}
    return weights, gradients


def schedule_of(shape, optimizer):
    if shape == "constant":
        return transformers.get_constant_schedule_with_warmup(optimizer, WARMUP)
    make = {"linear": transformers.get_linear_schedule_with_warmup,
            "cosine": transformers.get_cosine_schedule_with_warmup}[shape]
    return make(optimizer, WARMUP, STEPS)


def reference(weights, gradients, shape, clip):
    parameters = {name: torch.nn.Parameter(weight.clone()) for name, weight in weights.items()}
    decayed = [p for n, p in parameters.items() if "norm" not in n and not n.endswith("bias")]
    rest = [p for n, p in parameters.items() if "norm" in n or n.endswith("bias")]
    optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": DECAY},
                                   {"params": rest, "weight_decay": 0.0}], lr=LR)
    schedule = schedule_of(shape, optimizer)
    norms = []
    for step in range(STEPS):
        for name, parameter in parameters.items():
            parameter.grad = sum(gradients[step, s, name] for s in range(SAMPLES)) / SAMPLES
        norms.append(torch.nn.utils.clip_grad_norm_(parameters.values(), clip or float("inf")).item())
        optimizer.step()
        schedule.step()
    return parameters, norms


def trained(tmp_path, weights, gradients, ranks, shape, clip):
    tensors = {f"weight/{name}": weight for name, weight in weights.items()}
    tensors |= {f"gradient/{step}/{sample}/{name}": gradient
                for (step, sample, name), gradient in gradients.items()}
    source, target = tmp_path / "in.safetensors", tmp_path / f"{ranks}-{shape}-{clip}.safetensors"
    safetensors.torch.save_file(tensors, source)
    subprocess.run([PROBE, source, target, str(ranks), shape, str(WARMUP), str(STEPS), str(LR),
                    str(DECAY), str(clip)], check=True, timeout=60)
    return safetensors.torch.load_file(target)


@pytest.mark.parametrize("shape", ["constant", "linear", "cosine"])
@pytest.mark.parametrize("dtype, tolerance", [(torch.float64, 1e-12), (torch.float32, 1e-5)])
def test_ten_steps_are_those_of_torch_and_transformers(tmp_path, shape, dtype, tolerance):
    weights, gradients = problem(dtype)
    for clip in (0, 5.0):
        expected, norms = reference(weights, gradients, shape, clip)
        for ranks in (1, 2, 4):
            found = trained(tmp_path, weights, gradients, ranks, shape, clip)
            for name, parameter in expected.items():
                difference = (found[f"weight/{name}"] - parameter).norm() / parameter.norm()
                assert difference < tolerance, (name, ranks, clip)
            assert found["norms"].tolist() == pytest.approx(norms, rel=tolerance)


def tiny_models():
    small = dict(hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2)
    text = dict(small, model_type="qwen3", num_key_value_heads=1, vocab_size=64, head_dim=8)
    vision = dict(small, image_size=28, patch_size=14, use_qk_norm=True, norm_type="layer_norm")
    yield transformers.InternVLForConditionalGeneration(transformers.InternVLConfig(
        vision_config=vision, text_config=text, image_token_id=3))
    yield transformers.LlavaForConditionalGeneration(transformers.LlavaConfig(
        vision_config=dict(small, model_type="clip_vision_model", image_size=28, patch_size=14),
        text_config=dict(text, model_type="llama"), image_token_index=3))


@pytest.mark.parametrize("model", list(tiny_models()), ids=lambda model: type(model).__name__)
def test_what_decays_is_what_the_trainer_of_transformers_decays(model):
    names = [name for name, _ in model.named_parameters()]  # tied ones once
    expected = set(transformers.Trainer.get_decay_parameter_names(None, model)) & set(names)
    found = subprocess.run([PROBE, "decays"], input="\n".join(names), check=True, text=True,
                           capture_output=True, timeout=60).stdout.split()
    assert set(found) == expected
    assert 0 < len(found) < len(names)
