# SPDX-License-Identifier: Apache-2.0
"""omnibal-scan: annotations and pictures into a corpus directory with tokens."""
import json
import os
import shutil
import sys

import pytest
from conftest import PROGRAM, ROOT, ask

np = pytest.importorskip("numpy")
for package in ("PIL", "tokenizers", "jinja2", "xxhash"):
    pytest.importorskip(package, reason=f"{package} is not installed (requirements-runtime.txt)")

import tokenizers  # noqa: E402
from PIL import Image, ImageOps  # noqa: E402

import image_files  # noqa: E402
from scan_folder import GOOD, folder, model, row, turns  # noqa: E402, F401

sys.path.insert(0, str(ROOT / "python"))
from omnibal_scan import pictures  # noqa: E402



def decoded(folder, ids):
    return tokenizers.Tokenizer.from_file(str(folder.model / "tokenizer.json")).decode(
        ids.tolist(), skip_special_tokens=False)


def test_tokens_mask_and_tiles(folder):
    folder.picture("b.png", 640, 480)
    answer = folder.scan([row("<image>\nwhat?", "grün 🙂", image="b.png"), row("q", "yes")])
    assert (answer["samples"], answer["rejected"]) == (2, 0)
    offsets, ids, mask = (folder.column(n) for n in ("token_offsets", "token_ids", "token_supervised"))
    assert offsets[0] == 0 and offsets[-1] == len(ids) == len(mask)
    first, supervised = ids[:offsets[1]], mask[:offsets[1]].astype(bool)
    assert decoded(folder, first) == (
        "<|im_start|>user\n<img>" + "<IMG_CONTEXT>" * 52 + "</img>\nwhat?<|im_end|>\n"
        "<|im_start|>assistant\ngrün 🙂<|im_end|>\n")
    assert decoded(folder, first[supervised]) == "grün 🙂<|im_end|>"
    assert folder.column("image_grids").tolist() == [[4, 3]]  # I15: and the thumbnail makes 13
    assert folder.column("vision").tolist() == [13, 0]
    assert folder.column("tokens").tolist() == np.diff(offsets).tolist()
    assert folder.column("supervised").tolist() == [supervised.sum(), mask[offsets[1]:].sum()]
    path = folder.column("image_paths").tobytes().decode()
    assert Image.open(path).size == (640, 480)
    assert folder.column("image_offsets").tolist() == [0, 1, 1]


def test_ids_equal_those_of_transformers(folder):
    transformers = pytest.importorskip("transformers")
    conversation = turns(("system", "be brief"), ("human", "eins"), ("gpt", "zwei  "), ("human", "3"),
                         ("gpt", "vier\n"))
    folder.scan([conversation])
    roles = {"system": "system", "human": "user", "gpt": "assistant"}
    messages = [{"role": roles[t["from"]], "content": t["value"]} for t in conversation["conversations"]]
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder.model)
    expected = tokenizer.apply_chat_template(messages, tokenize=True, return_dict=False)
    assert folder.column("token_ids").tolist() == list(expected)


def test_one_name_or_a_list_of_one_cost_the_same(folder):  # A07
    folder.scan([row("<image>", image="a.png"), row("<image>", image=["a.png"])])
    for name in ("vision", "tokens", "supervised"):
        assert len(set(folder.column(name).tolist())) == 1


def test_several_pictures(folder):  # A08
    folder.picture("b.png")
    folder.scan([row("<image><image>", images=["a.png", "b.png"]),
                 row("<image>", image="a.png", images=["b.png"])])
    assert folder.column("image_offsets").tolist() == [0, 2]
    assert folder.reasons()[1]["reason"] == "conflicting_keys"


def test_placeholders_and_pictures_must_match(folder):  # A09
    rows = [row("<image><image>", image="a.png"), row("<image>", image=["a.png", "a.png"]),
            row("q", image="a.png"), row("q", "<image>", image="a.png"), row("<image>"),
            {"image": ["a.png", "a.png"], **turns(("human", "<image>q"), ("gpt", "a"),
                                                  ("human", "<image>r"), ("gpt", "b"))}]
    folder.scan(rows)
    found = folder.reasons()
    assert [found[i]["reason"] for i in range(5)] == [
        "placeholders_differ", "placeholders_differ", "placeholders_differ", "placeholder_in_answer",
        "placeholders_differ"]
    assert found[0]["detail"] == "1 images, 2 placeholders"
    assert folder.column("row").tolist() == [5]
    folder.scan(rows, "--missing-placeholder", "prefix")
    assert folder.column("row").tolist() == [2, 5]
    assert "<image>" not in decoded(folder, folder.column("token_ids"))


def test_conversations_of_every_shape(folder):  # A12, A12b, A12c, A13
    cases = [(turns(), "no_turns"),
             (turns(("human", "q")), "no_answer"),
             (turns(("gpt", "a")), "begins_with_answer"),
             (turns(("gpt", "a"), ("human", "q")), "begins_with_answer"),
             (turns(("human", "q"), ("human", "r"), ("gpt", "a")), "two_questions"),
             (turns(("human", "q"), ("gpt", "a"), ("gpt", "b")), "two_answers"),
             (turns(("human", "q"), ("gpt", "a"), ("human", "r")), "ends_with_question"),
             (turns(("human", "q"), ("system", "s"), ("gpt", "a")), "late_system"),
             (turns(("human", "q"), ("robot", "a")), "unknown_role"),
             ({"conversations": [{"from": "human", "value": "q"}, {"from": "gpt", "text": "a"}]},
              "no_value"),
             ({"conversations": "q"}, "no_conversation"),
             ({"conversations": ["q"]}, "malformed_turn"),
             (row("q", ""), "no_supervised_tokens"),
             ([], "malformed_row")]
    good = [turns(("system", "s"), ("human", "q"), ("gpt", "a")),
            {"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]}]
    folder.scan([case for case, _ in cases] + good)
    found = folder.reasons()
    assert [found[i]["reason"] for i in range(len(cases))] == [reason for _, reason in cases]
    assert found[9]["detail"] == "turn 1: no value"
    assert folder.column("row").tolist() == [len(cases), len(cases) + 1]


def test_file_names_of_every_kind(folder):  # A17
    local = ["图 片.png", "a%20b.png", "a#b.png", "🙂.png", "\u00e9.png", "e\u0301.png", "b.png ",
             str(folder.path / "abs.png"), "../" + folder.path.name + "/up.png"]
    for name in local:
        folder.picture(name)
    local.append(f"file://{folder.path}/abs.png")
    remote = ["s3://b/a.png", "http://h/a.png", "data:image/png;base64,AAAA"]
    folder.scan([row("<image>", image=name) for name in local + remote], env={"LC_ALL": "C"})
    assert folder.column("row").tolist() == list(range(len(local)))
    assert {entry["reason"] for entry in folder.reasons().values()} == {"remote_image"}
    offsets, paths = folder.column("image_path_offsets"), folder.column("image_paths").tobytes()
    for begin, end in zip(offsets, offsets[1:]):
        assert os.path.exists(paths[begin:end])


def test_pictures_that_are_none(folder):  # I01, I02, I03, I04, I08, I13
    (folder.path / "empty.jpg").write_bytes(b"")
    (folder.path / "page.jpg").write_text("<html>404</html>")
    Image.new("RGB", (64, 48)).save(folder.path / "gif-inside.jpg", format="GIF")
    Image.effect_noise((200, 200), 90).save(folder.path / "cut.jpg")
    cut = (folder.path / "cut.jpg").read_bytes()[:-15]
    (folder.path / "cut.jpg").write_bytes(cut)
    (folder.path / "huge.png").write_bytes(image_files.png_header(20000, 20000))
    os.mkfifo(folder.path / "pipe.png")
    names = ["empty.jpg", "page.jpg", "gif-inside.jpg", "cut.jpg", "huge.png", "pipe.png", "none.png",
             "."]
    rows = [row("<image>", image=name) for name in names]
    folder.scan(rows)
    assert folder.column("row").tolist() == [2, 3]
    reasons = {i: entry["reason"] for i, entry in folder.reasons().items()}
    assert reasons[0] == "image_empty" and reasons[1] == "not_an_image"
    assert reasons[4] == "image_too_large"
    assert reasons[5] == reasons[7] == "image_no_file" and reasons[6] == "image_missing"
    folder.scan(rows, "--decode-check")
    assert folder.column("row").tolist() == [2]
    assert folder.reasons()[3]["reason"] == "image_broken"


def test_sizes_are_those_of_upright_pictures(folder):
    """Metadata before and behind the pixels, EXIF and XMP, in every format: as Pillow shows them."""
    files = image_files.save_all_kinds(folder.path)
    names = [path.name for path, _ in files]
    late = (folder.path / "turned6.png").read_bytes()
    at, length = late.index(b"eXIf") - 4, 12 + int.from_bytes(late[late.index(b"eXIf") - 4:][:4], "big")
    (folder.path / "late.png").write_bytes(late[:at] + late[at + length:-12] + late[at:at + length]
                                           + late[-12:])
    for name in names + ["late.png"]:
        with Image.open(folder.path / name) as image:
            expected = ImageOps.exif_transpose(image).size
        assert pictures.upright_size(str(folder.path / name), 10**9, False) == expected, name


def test_many_pictures_share_the_tiles(folder):  # A21
    folder.picture("wide.png", 640, 480)
    counts = (1, 2, 5, 13, 40, 100)
    folder.scan([row("<image>" * n, images=["wide.png"] * n) for n in counts])
    assert folder.column("vision").tolist() == [13, 2 * 7, 5 * 1, 13, 40, 100]


def test_forms_of_annotation_files(folder):  # A01, A03, A28
    lines = [json.dumps(GOOD), json.dumps(row("r", "b"))]
    for text in ("[\n" + ",\n".join(lines) + "\n]", "\ufeff" + "\r\n".join(lines) + "\r\n\r\n",
                 lines[0] + "\n\n" + lines[1]):
        assert folder.scan(text)["samples"] == 2
        assert folder.column("row").tolist() == [0, 1]
    twice = lines[0][:-1] + ', "image": "a", "image": "b"}'
    folder.scan("\n".join([twice, "{", "[" * 100000, lines[1]]))
    assert {entry["reason"] for entry in folder.reasons().values()} == {"malformed_row"}
    assert folder.column("row").tolist() == [3]


def test_repeats_and_dummies(folder):
    meta = {"set": {"root": ".", "annotation": "rows.jsonl", "repeat_time": 2.5}}
    answer = folder.scan([row(str(i)) for i in range(4)], "--dummy", meta=meta)
    assert answer["samples"] == 10 and answer["rows"] == 4
    assert folder.column("row").tolist()[:8] == [0, 1, 2, 3] * 2
    assert folder.column("prepared_row").tolist() == folder.column("row").tolist()
    assert set(folder.column("vision").tolist()) == {1} == set(folder.column("dummy_vision").tolist())


def test_nothing_usable_and_nothing_lost(folder):
    done = folder.run([turns()])
    error = json.loads(done.stdout)["error"]
    assert done.returncode == 3 and error["code"] == "nothing_usable"
    assert error["value"] == "1 no_turns" and not folder.out.exists()
    assert folder.run("").returncode == 3
    folder.out.mkdir()
    (folder.out / "mine.txt").write_text("keep")
    done = folder.run([GOOD])
    assert done.returncode == 1 and json.loads(done.stdout)["error"]["code"] == "would_overwrite"
    assert (folder.out / "mine.txt").read_text() == "keep"
    assert not [p for p in folder.path.iterdir() if p.name.startswith(".out")]


def test_half_a_character_rejects_its_row_alone(folder):
    answer = folder.scan([row("q\ud83d"), GOOD])
    assert answer["samples"] == 1 and folder.reasons()[0]["reason"] == "malformed_text"


@pytest.mark.parametrize("name, text, code", [
    ("tokenizer.json", "{", "malformed_json"), ("tokenizer_config.json", "{", "malformed_json"),
    ("chat_template.jinja", "{% for %}", "malformed_template")])
def test_malformed_files_of_the_model_are_named(folder, tmp_path, name, text, code):
    other = tmp_path / "other"
    shutil.copytree(folder.model, other)
    (other / name).write_text(text)
    folder.model = other
    done = folder.run([GOOD])
    error = json.loads(done.stdout)["error"]
    assert (done.returncode, error["code"]) == (3, code)
    assert str(other) in error["where"]["file"]


def test_where_nothing_can_be_written_is_told(folder):
    (folder.path / "file").write_text("")
    folder.out = folder.path / "file" / "out"
    done = folder.run([GOOD])
    assert done.returncode == 1 and json.loads(done.stdout)["error"]["code"] == "write_failed"


def test_tokens_of_pictures_in_a_text_are_refused(folder):
    folder.scan([row("look: <IMG_CONTEXT>"), GOOD])
    assert folder.reasons()[0]["reason"] == "image_token_in_text"


@pytest.mark.skipif(not PROGRAM.exists(), reason="omnibal is not built")
def test_omnibal_reads_the_corpus(folder):
    folder.picture("b.png", 640, 480)
    folder.scan([row("<image>", image="b.png"), GOOD])
    answer = ask("stats", folder.out)
    assert answer["samples"] == 2
