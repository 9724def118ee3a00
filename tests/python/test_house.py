# SPDX-License-Identifier: Apache-2.0
"""The house rules that a script can check."""
import re
import subprocess

from conftest import ROOT


def tracked(*patterns):
    listing = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, check=True,
                             capture_output=True, text=True).stdout
    return [ROOT / name for name in listing.splitlines()]


def test_files_stay_short():
    long = {str(path.relative_to(ROOT)): lines
            for path in tracked("*.h", "*.cpp", "*.py", "*.cmake", "dev")
            if (lines := len(path.read_text().splitlines())) > 300}
    assert not long


def test_every_source_names_its_licence():
    for path in tracked("*.h", "*.cpp", "*.py", "*.cmake", "dev"):
        assert "SPDX-License-Identifier: Apache-2.0" in "".join(
            path.read_text().splitlines(keepends=True)[:2]), path


def test_public_headers_open_with_what_they_are():
    for path in tracked("include/*.h"):
        assert path.read_text().splitlines()[1].startswith("//"), path


def test_documents_link_to_files_that_exist():
    for path in tracked("*.md"):
        for target in re.findall(r"\]\(([^)#:]+)\)", path.read_text()):
            assert (path.parent / target).exists(), (path, target)
