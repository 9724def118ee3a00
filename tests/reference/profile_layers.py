# SPDX-License-Identifier: Apache-2.0
"""What a profile file (docs/formats/profile.md) says of its layers at its own load, and the peak of a stage.

    layers = read_layers("tests/data/w.json")
    stage_peak(layers[:12], range(3), in_flight=8)   # bytes, the first three layers recompute
"""
import json
import pathlib
import typing

BLOCKS = ("vision_block", "llm_block")


class Layer(typing.NamedTuple):
    kind: str
    parameters: float
    forward_s: float
    backward_s: float
    recompute_s: float
    activation_bytes: float
    recomputed_bytes: float
    static_bytes: float
    boundary_bytes: float

    @property
    def gains(self):
        """Whether recomputing it saves anything."""
        return self.recomputed_bytes < self.activation_bytes


def at_load(value, load):
    """A number, or a linear function of the micro-batch's load."""
    if not isinstance(value, dict):
        return value
    return (value.get("constant", 0) + value.get("per_vision_unit", 0) * load["vision_units"] +
            value.get("per_token", 0) * load["tokens"] +
            value.get("per_token_pair", 0) * load["token_pairs"])


def read_layers(path):
    """All layers must be trainable: frozen ones have other rules."""
    profile = json.loads(pathlib.Path(path).read_text())
    load, layers = profile["load"], []
    for index, layer in enumerate(profile["layers"]):
        assert layer["trainable"], layer["name"]

        def of(key, default=None, layer=layer):
            return at_load(layer[key] if key in layer else layer[default], load)

        input_grad = of("input_grad_s", "forward_s") if index > 0 else 0
        layers.append(Layer(
            layer["kind"], of("parameters"), of("forward_s"),
            input_grad + of("weight_grad_s", "forward_s"), of("recompute_s", "forward_s"),
            of("activation_bytes"), of("recomputed_bytes"), of("static_bytes"),
            of("boundary_bytes")))
    return layers


def in_flight(stage, stages, micro_batches):
    """Micro-batches that a stage of 1F1B holds at most."""
    return min(micro_batches, stages - stage)


def stage_peak(stage, recomputed, in_flight):
    """Static bytes, what each micro-batch in flight keeps, and the largest activation that comes back."""
    kept = sum(layer.recomputed_bytes if index in recomputed else layer.activation_bytes
               for index, layer in enumerate(stage))
    transient = max((stage[index].activation_bytes for index in recomputed), default=0)
    return sum(layer.static_bytes for layer in stage) + in_flight * kept + transient


def stage_ranges(cuts, num_layers):
    bounds = [0, *cuts, num_layers]
    return list(zip(bounds, bounds[1:]))
