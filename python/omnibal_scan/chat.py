# SPDX-License-Identifier: Apache-2.0
"""A conversation into tokens and the mask of supervised ones, by the tokenizer's own files."""
import dataclasses
import pathlib

import jinja2
import jinja2.sandbox
import numpy as np
import tokenizers

from omnibal_scan.annotations import read_text
from omnibal_scan.conversation import PLACEHOLDER
from omnibal_scan.model import read_object
from omnibal_scan.problems import BadInput, Rejected


@dataclasses.dataclass(frozen=True)
class ImageTokens:
    begin: str = "<img>"
    context: str = "<IMG_CONTEXT>"
    end: str = "</img>"
    per_tile: int = 256


def _raise_exception(message):
    raise jinja2.TemplateError(message)


def _text_of(token):
    return token["content"] if isinstance(token, dict) else token


def _read_tokenizer(path):
    text = read_text(path)
    try:
        return tokenizers.Tokenizer.from_str(text)
    except Exception as problem:  # the package raises no narrower one
        raise BadInput("malformed_json", f"malformed tokenizer: {problem}", file=str(path)) from None


class Chat:
    def __init__(self, directory, per_tile):
        folder = pathlib.Path(directory)
        settings = read_object(folder / "tokenizer_config.json")
        self.tokenizer = _read_tokenizer(folder / "tokenizer.json")
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()
        own = {**settings, **(settings.get("extra_special_tokens") or {})}
        self.image = ImageTokens(_text_of(own.get("start_image_token", "<img>")),
                                 _text_of(own.get("context_image_token", "<IMG_CONTEXT>")),
                                 _text_of(own.get("end_image_token", "</img>")), per_tile)
        self.image_token_id = self.tokenizer.token_to_id(self.image.context)
        if self.image_token_id is None:
            raise BadInput("missing_key", "the tokenizer has no token for pictures",
                           file=str(folder / "tokenizer.json"), value=self.image.context)
        self._variables = {name: _text_of(settings[name]) for name in ("bos_token", "eos_token",
                           "pad_token", "unk_token") if settings.get(name)}
        self.template_text = self._find_template(folder, settings)
        environment = jinja2.sandbox.ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"])
        environment.globals["raise_exception"] = _raise_exception
        try:
            self._template = environment.from_string(self.template_text)
        except jinja2.TemplateError as problem:
            raise BadInput("malformed_template", f"the chat template is malformed: {problem}",
                           file=str(folder), key="chat_template") from None

    @staticmethod
    def _find_template(folder, settings):
        if (folder / "chat_template.jinja").exists():
            return read_text(folder / "chat_template.jinja")
        template = settings.get("chat_template")
        if isinstance(template, list):  # named ones
            template = next((t["template"] for t in template if t.get("name") == "default"), None)
        if not isinstance(template, str):
            raise BadInput("missing_key", "the tokenizer has no chat template", file=str(folder),
                           key="chat_template", hint="add chat_template.jinja")
        return template

    def _render(self, messages, prompt):
        try:
            return self._template.render(messages=messages, add_generation_prompt=prompt,
                                         **self._variables)
        except Exception as problem:  # whatever a template does with a row
            raise Rejected("template_refuses", f"the chat template refuses: {problem}") from None

    def _answers(self, messages, text):
        """(begin, end) in `text` of every answer that is not blank, the token that ends it included."""
        spans = []
        for number, message in enumerate(messages):
            if message["role"] != "assistant" or not message["content"].strip():
                continue
            before = self._render(messages[:number], True)
            after = self._render(messages[:number + 1], False)
            if not text.startswith(after) or not after.startswith(before):
                raise Rejected("template_not_incremental",
                               f"turn {number}: the chat template does not build up turn by turn")
            spans.append((len(before), len(after.rstrip())))
        return spans

    def encode(self, messages, tiles):
        """Token ids (uint32) and mask (uint8) of a conversation whose pictures have `tiles` tiles.

        A picture is one context token until all is tokenized: added tokens stand alone, so their
        number changes nothing around them."""
        image = self.image
        one = image.begin + image.context + image.end
        marked = [{**message, "content": message["content"].replace(PLACEHOLDER, one)}
                  for message in messages]
        text = self._render(marked, False)
        try:
            text.encode()
        except UnicodeEncodeError as problem:
            raise Rejected("malformed_text", f"the text holds half a character: {problem.reason}") from None
        spans = self._answers(marked, text)
        encoding = self.tokenizer.encode(text, add_special_tokens=False)
        ids = np.array(encoding.ids, np.uint32)
        offsets = np.array(encoding.offsets, np.int64).reshape(-1, 2)
        mask = np.zeros(len(ids), np.uint8)
        for begin, end in spans:
            mask |= ((offsets[:, 0] >= begin) & (offsets[:, 1] <= end)
                     & (offsets[:, 1] > offsets[:, 0])).astype(np.uint8)
        contexts = np.flatnonzero(ids == self.image_token_id)
        if len(contexts) != len(tiles):
            raise Rejected("image_token_in_text", "the text itself holds tokens of pictures",
                           len(contexts), len(tiles))
        if not mask.any():
            raise Rejected("no_supervised_tokens", "no token of the row is supervised", 0, 1)
        copies = np.ones(len(ids), np.int64)
        copies[contexts] = image.per_tile * np.array(tiles, np.int64)
        return np.repeat(ids, copies), np.repeat(mask, copies)
