# SPDX-License-Identifier: Apache-2.0
"""How other projects cut a pipeline, each called as its users call it, and which recomputation they offer.

    cuts = PEERS["torchtitan"].cut(layers, 8)
    for label, recomputed in PEERS["torchtitan"].recompute(layers, cuts): ...   # least first
"""
import logging
import types
import typing
import warnings

from profile_layers import BLOCKS, stage_ranges

warnings.filterwarnings("ignore")


class Peer(typing.NamedTuple):
    cut: typing.Callable        # (layers, stages) -> cuts
    recompute: typing.Callable  # (layers, cuts) -> (label, layers that recompute), least first


def llm_bounds(layers):
    """First block of the language model, and the layer behind its last."""
    blocks = [index for index, layer in enumerate(layers) if layer.kind == "llm_block"]
    return blocks[0], blocks[-1] + 1


def cuts_of_counts(layers, counts):
    """Stages of so many LLM blocks each, all that stands before the LLM on the first: neither
    Megatron-Core nor torchtitan places a vision tower elsewhere."""
    cuts, end = [], llm_bounds(layers)[0]
    for count in counts[:-1]:
        end += count
        cuts.append(end)
    return cuts


# DeepSpeed: PipelineModule cuts by partition_balanced, by default over parameters.

def deepspeed(weight):
    def cut(layers, stages):
        logging.disable(logging.WARNING)  # it warns that there is no GPU
        from deepspeed.runtime.utils import partition_balanced
        parts = partition_balanced(weights=[weight(layer) for layer in layers], num_parts=stages)
        return [int(part) for part in parts[1:-1]]
    return cut


# Megatron-Core: equally many LLM blocks a stage.

def megatron_config(num_layers, stages):
    import torch
    from megatron.core.transformer.transformer_config import TransformerConfig
    return TransformerConfig(num_layers=num_layers, hidden_size=64, num_attention_heads=8,
                             pipeline_model_parallel_size=stages, pipeline_dtype=torch.bfloat16)


def megatron(layers, stages):
    from megatron.core.transformer.transformer_block import get_num_layers_to_build
    first, end = llm_bounds(layers)
    config = megatron_config(end - first, stages)
    return cuts_of_counts(layers, [get_num_layers_to_build(config, pp_rank=rank)
                                   for rank in range(stages)])


def megatron_layout(layers, cuts):
    """The string of --pipeline-model-parallel-layout for these cuts."""
    first, end = llm_bounds(layers)
    stages = ["t" * max(0, min(stop, end) - max(start, first))
              for start, stop in stage_ranges(cuts, len(layers))]
    return "|".join(["E" + stages[0], *stages[1:-1], stages[-1] + "L"])


def cuts_of_megatron_layout(layers, layout, stages):
    """Megatron-Core's own reading of the string; it raises what it cannot build."""
    from megatron.core.transformer.enums import LayerType
    from megatron.core.transformer.pipeline_parallel_layer_layout import PipelineParallelLayerLayout
    first, end = llm_bounds(layers)
    parsed = PipelineParallelLayerLayout(layout, stages)
    parsed.validate_layer_layout(end - first, None)
    return cuts_of_counts(layers, [parsed.get_num_layers_to_build(LayerType.decoder, pp_rank=rank)
                                   for rank in range(stages)])


# torchtitan: pipeline_vlm puts the tower on the first stage and hands the names of each stage's
# modules to pipeline_llm, which would build them on GPUs. We read the names.

def torchtitan(layers, stages):
    from torchtitan.config import ParallelismConfig
    from torchtitan.distributed import pipeline_parallel
    pipeline_parallel.pipeline_llm = (
        lambda model, *, parallelism, **others: parallelism.module_fqns_per_model_part)
    first, end = llm_bounds(layers)
    names = pipeline_parallel.pipeline_vlm(
        types.SimpleNamespace(vision_encoder=object()),
        parallel_dims=types.SimpleNamespace(pp=stages),
        parallelism=ParallelismConfig(pipeline_parallel_degree=stages),
        model_config=types.SimpleNamespace(layers=[None] * (end - first)))
    return cuts_of_counts(layers, [sum(name.startswith("layers.") for name in part)
                                   for part in names])


# What each can be told about recomputation.

def none_or_all(layers, _cuts):
    """DeepSpeed's activation_checkpoint_interval, torchtitan's full activation checkpointing."""
    yield "0", []
    yield "all blocks", [index for index, layer in enumerate(layers) if layer.kind in BLOCKS]


def one_number(layers, cuts):
    """Megatron-Core's --recompute-method block --recompute-num-layers N: the first N blocks of the
    tower and of the LLM on every stage."""
    blocks = [[index for index in range(start, end) if layers[index].kind == kind]
              for start, end in stage_ranges(cuts, len(layers)) for kind in BLOCKS]
    for number in range(1 + max(map(len, blocks))):
        yield f"N = {number}", sorted(index for some in blocks for index in some[:number])


PEERS = {
    "DeepSpeed, parameters": Peer(deepspeed(lambda layer: layer.parameters), none_or_all),
    "DeepSpeed, forward time": Peer(deepspeed(lambda layer: layer.forward_s), none_or_all),
    "Megatron-Core": Peer(megatron, one_number),
    "torchtitan": Peer(torchtitan, none_or_all),
}
