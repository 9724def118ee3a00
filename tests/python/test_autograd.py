# SPDX-License-Identifier: Apache-2.0
"""What blocks keep and compute, against PyTorch's automatic differentiation on the CPU.

Skipped where PyTorch is not installed."""
import json

import pytest

from conftest import ask

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

RATE = 163e12  # of a100-80g
RANK = 16
CLUSTER = ["--cluster", "a100-80g"]
PRESET = "internvit-300m+qwen2.5-0.5b"
# Norms: of queries and keys. Towers have one over the whole width, Qwen3 one over each head.
VISION = {"model": "vit", "width": 1024, "query": 1024, "kv": 1024, "heads": 16, "mlp": 4096,
          "gated": False, "scale": True, "norms": False, "dropout": 0.0, "tokens": 1025}
# As the paper counts: dropout, nothing for the scale.
PAPERS_VISION = {**VISION, "model": PRESET, "scale": False, "dropout": 0.1}
LLM = {"model": PRESET, "width": 896, "query": 896, "kv": 128, "heads": 14, "mlp": 4864,
       "gated": True, "scale": False, "norms": False, "dropout": 0.0, "tokens": 192}
CLIP = {**VISION, "model": "clip", "scale": False, "tokens": 577}
NORMED_VISION = {**VISION, "model": "normed", "width": 192, "query": 192, "kv": 192, "heads": 3,
                 "mlp": 640, "norms": True, "tokens": 257}
NORMED_LLM = {**LLM, "model": "normed", "width": 256, "query": 384, "kv": 128, "heads": 6, "mlp": 512,
              "norms": True}
TEXT = {"model_type": "qwen2", "hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2,
        "num_key_value_heads": 2, "intermediate_size": 256, "vocab_size": 1000}
TOWER = {"hidden_size": 1024, "num_hidden_layers": 3, "num_attention_heads": 16,
         "intermediate_size": 4096, "patch_size": 14}
CONFIGS = {
    "vit": {"model_type": "internvl", "image_token_id": 9, "text_config": TEXT,
            "vision_config": {**TOWER, "image_size": 448, "attention_bias": True}},
    "clip": {"model_type": "llava", "image_token_index": 9, "text_config": {**TEXT, "model_type": "llama"},
             "vision_config": {**TOWER, "model_type": "clip_vision_model", "image_size": 336}},
    "normed": {
        "model_type": "internvl", "image_token_id": 9,
        "vision_config": {"hidden_size": 192, "num_hidden_layers": 2, "num_attention_heads": 3,
                          "intermediate_size": 640, "image_size": 224, "patch_size": 14,
                          "use_qk_norm": True},
        "text_config": {"model_type": "qwen3", "hidden_size": 256, "num_hidden_layers": 2,
                        "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 64,
                        "intermediate_size": 512, "vocab_size": 1000}},
}


class SwiGlu(torch.autograd.Function):
    """silu(gate) x up that keeps its two inputs, as fused kernels do."""

    @staticmethod
    def forward(ctx, gate, up):
        ctx.save_for_backward(gate, up)
        return F.silu(gate) * up

    @staticmethod
    def backward(ctx, grad):
        gate, up = ctx.saved_tensors
        with torch.enable_grad():
            gate, up = gate.detach().requires_grad_(), up.detach().requires_grad_()
            return torch.autograd.grad(F.silu(gate) * up, (gate, up), grad)


class Linear(nn.Module):
    def __init__(self, inputs, outputs, trains, adapter):
        super().__init__()
        self.base = nn.Linear(inputs, outputs, bias=False, dtype=torch.bfloat16)
        self.base.requires_grad_(trains)
        self.a = nn.Linear(inputs, RANK, bias=False, dtype=torch.bfloat16) if adapter else None
        self.b = nn.Linear(RANK, outputs, bias=False, dtype=torch.bfloat16) if adapter else None

    def forward(self, x):
        return self.base(x) if self.a is None else self.base(x) + self.b(self.a(x))


def dropped(x, shape):
    """With a mask of a byte a value, as on devices."""
    return torch.native_dropout(x, shape["dropout"], True)[0] if shape["dropout"] else x


class Block(nn.Module):
    def __init__(self, shape, trains, targets):
        super().__init__()
        self.shape = shape
        width, mlp = shape["width"], shape["mlp"]

        def linear(name, inputs, outputs):
            return Linear(inputs, outputs, trains, name in targets)
        self.norms = nn.ModuleList(nn.LayerNorm(width, dtype=torch.bfloat16) for _ in range(2))
        self.norms.requires_grad_(trains)
        self.q, self.k, self.v = (linear(n, width, shape["query" if n == "q" else "kv"]) for n in "qkv")
        self.o = linear("o", shape["query"], width)
        self.gate = linear("gate", width, mlp) if shape["gated"] else None
        self.up, self.down = linear("up", width, mlp), linear("down", mlp, width)
        self.scales = nn.ParameterList(torch.ones(width, dtype=torch.bfloat16) for _ in range(2))
        self.scales.requires_grad_(trains)
        head = shape["query"] // shape["heads"]
        self.normed_widths = (head, head) if shape["gated"] else (shape["query"], shape["kv"])
        self.qk_norms = nn.ModuleList(nn.LayerNorm(n, dtype=torch.bfloat16)
                                      for n in self.normed_widths)
        self.qk_norms.requires_grad_(trains)

    def scaled(self, x, index):
        return x * self.scales[index] if self.shape["scale"] else x

    def qk_normed(self, x, index):
        if not self.shape["norms"]:
            return x
        return self.qk_norms[index](x.unflatten(-1, (-1, self.normed_widths[index]))).flatten(-2)

    def forward(self, x):
        shape = self.shape
        normed = self.norms[0](x)
        head = shape["query"] // shape["heads"]
        parts = (self.qk_normed(self.q(normed), 0), self.qk_normed(self.k(normed), 1), self.v(normed))
        q, k, v = (part.view(1, shape["tokens"], -1, head).transpose(1, 2) for part in parts)
        context = F.scaled_dot_product_attention(q, k, v, is_causal=shape["gated"],
                                                 enable_gqa=k.shape[1] != q.shape[1])
        context = context.transpose(1, 2).reshape(1, shape["tokens"], -1)
        x = x + self.scaled(dropped(self.o(context), shape), 0)
        normed = self.norms[1](x)
        if self.gate is None:
            inner = F.gelu(self.up(normed))
        else:
            inner = SwiGlu.apply(self.gate(normed), self.up(normed))
        return x + self.scaled(dropped(self.down(inner), shape), 1)


def run_block(shape, trains, targets, trains_before):
    """Bytes kept between forward and backward; FLOPs of the matrices forward and backward."""
    torch.manual_seed(1)
    block = Block(shape, trains, targets)
    x = torch.randn(1, shape["tokens"], shape["width"], dtype=torch.bfloat16,
                    requires_grad=trains_before)
    weights = {p.untyped_storage().data_ptr() for p in block.parameters()}
    kept = {}

    def note(tensor):
        storage = tensor.untyped_storage()
        # Not statistics of norms and attention: a few numbers a token, mostly in fp32.
        few = tensor.numel() < shape["tokens"] * RANK or tensor.dtype == torch.float32
        if storage.data_ptr() not in weights and not few:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor
    with FlopCounterMode(display=False) as forward, \
            torch.autograd.graph.saved_tensors_hooks(note, lambda t: t):
        y = block(x)
    with FlopCounterMode(display=False) as backward:
        y.backward(torch.ones_like(y))

    def matrices(counter):
        return sum(n for op, n in counter.get_flop_counts()["Global"].items()
                   if "mm" in str(op))
    return sum(kept.values()), matrices(forward), matrices(backward)


def layer_of(tmp_path, model, flags, name):
    if model in CONFIGS:
        (tmp_path / "config.json").write_text(json.dumps(CONFIGS[model]))
        model = tmp_path / "config.json"
    ask("profile", "--model", model, *CLUSTER, *flags, "--out", tmp_path / "profile.json")
    layers = json.loads((tmp_path / "profile.json").read_text())["layers"]
    return next(layer for layer in layers if layer["name"] == name)


def coefficient(cost, shape):
    if not isinstance(cost, dict):
        assert cost == 0
        return 0
    return cost.get("per_vision_unit", 0) + cost.get("per_token", 0) * shape["tokens"]


def scores(shape):
    """FLOPs of attention's two products, which the profile of a ViT block contains per tile."""
    return 0 if shape["gated"] else 4 * shape["tokens"]**2 * shape["width"]


CASES = {
    "trained ViT": (VISION, [], "vision.1", True, [], True),
    "trained ViT of the paper": (PAPERS_VISION, [], "vision.1", True, [], True),
    "trained CLIP": (CLIP, [], "vision.1", True, [], True),
    "trained ViT with norms": (NORMED_VISION, [], "vision.1", True, [], True),
    "trained LLM with norms": (NORMED_LLM, [], "llm.1", True, [], True),
    "frozen LLM with norms": (NORMED_LLM, ["--freeze", "llm"], "llm.1", False, [], True),
    "adapted ViT with norms": (NORMED_VISION, ["--lora", "vision"], "vision.1", False,
                               ["q", "k", "v", "o", "up", "down"], True),
    "frozen LLM": (LLM, ["--freeze", "llm"], "llm.1", False, [], True),
    "trained LLM": (LLM, [], "llm.1", True, [], True),
    "adapted LLM": (LLM, ["--lora", "llm"], "llm.1", False,
                    ["q", "k", "v", "o", "gate", "up", "down"], True),
    "adapted ViT": (VISION, ["--lora", "vision"], "vision.1", False,
                    ["q", "k", "v", "o", "up", "down"], True),
    "q and v of an LLM": (LLM, ["--lora", "llm", "--lora-targets", "q,v"], "llm.1", False,
                          ["q", "v"], True),
    "first block, output": (LLM, ["--freeze", "vision,projector", "--lora", "llm",
                                  "--lora-targets", "o"], "llm.0", False, ["o"], False),
    "first block, MLP": (LLM, ["--freeze", "vision,projector", "--lora", "llm",
                               "--lora-targets", "mlp"], "llm.0", False,
                         ["gate", "up", "down"], False),
    "first block, all": (LLM, ["--freeze", "vision,projector", "--lora", "llm"], "llm.0", False,
                         ["q", "k", "v", "o", "gate", "up", "down"], False),
}


@pytest.mark.parametrize("case", CASES)
def test_a_block_keeps_and_computes_what_autograd_does(tmp_path, case):
    shape, flags, name, trains, targets, before = CASES[case]
    kept, forward, backward = run_block(shape, trains, targets, before)
    layer = layer_of(tmp_path, shape["model"], ["--lora-rank", RANK, *flags] if targets else flags, name)
    assert coefficient(layer["activation_bytes"], shape) == pytest.approx(kept, rel=1e-9)
    own = RATE * coefficient(layer["forward_s"], shape)
    assert own - scores(shape) == pytest.approx(forward, rel=1e-9)
    gradients = RATE * sum(coefficient(layer[key], shape) for key in ("input_grad_s", "weight_grad_s"))
    attends = before or any(target in "qkv" for target in targets) or trains
    assert gradients - (2 * scores(shape) if attends else 0) == pytest.approx(backward, rel=1e-9)
