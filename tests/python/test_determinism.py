# SPDX-License-Identifier: Apache-2.0
"""Same inputs, options and seed: the same bytes, whatever the threads, locale or folder (D06)."""
import pathlib
import shutil

import pytest

from conftest import PAPER_PLAN, run


def content(directory):
    return {path.name: path.read_bytes() for path in sorted(pathlib.Path(directory).iterdir())}


def plan(corpus, out, *flags, **options):
    done = run("plan", corpus, *PAPER_PLAN, "--out", out, "--quiet", *flags, **options)
    assert done.returncode == 0, done.stderr
    return content(out)


@pytest.fixture(scope="module")
def reference(small_corpus, tmp_path_factory):
    home = tmp_path_factory.mktemp("here")
    shutil.copytree(small_corpus, home / "corpus")
    return home, plan("corpus", home / "plan", cwd=home)


@pytest.mark.parametrize("threads", [1, 2, 4, 64])
def test_threads_do_not_matter(reference, tmp_path, threads):
    home, expected = reference
    assert plan("corpus", tmp_path / "plan", "--threads", threads, cwd=home) == expected


@pytest.mark.parametrize("locale", ["C", "C.UTF-8", "de_DE.UTF-8", "tr_TR.UTF-8"])
def test_locale_does_not_matter(reference, tmp_path, locale):
    home, expected = reference
    assert plan("corpus", tmp_path / "plan", cwd=home,
                env={"LC_ALL": locale, "LANG": locale}) == expected


def test_folder_does_not_matter(reference, tmp_path):
    home, expected = reference
    other = tmp_path / "another place"
    shutil.copytree(home / "corpus", other / "corpus")
    (other / "out").mkdir()
    done = run("plan", "corpus", *PAPER_PLAN, "--out", "out/plan", "--quiet", cwd=other)
    assert done.returncode == 0, done.stderr
    assert content(other / "out" / "plan") == expected


def test_another_seed_gives_another_plan(reference, tmp_path):
    home, expected = reference
    other = plan("corpus", tmp_path / "plan", "--seed", 1, cwd=home)
    assert other["pack_samples.npy"] != expected["pack_samples.npy"]
