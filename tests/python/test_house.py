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
    """A comment before #pragma once: what it is, an example, what it is not for."""
    for path in tracked("include/*.h", "runtime/*.h"):
        opening = path.read_text().split("#pragma once")[0]
        assert re.search(r"^//   \S", opening, re.MULTILINE), f"{path} opens without an example"
        assert re.search(r"\b(Not|No|Never|not)\b", opening), f"{path} does not say what it is not"


def test_functions_stay_short():
    """A function's body, from the line that opens it to the brace in column 0."""
    for path in tracked("src/*.cpp", "cli/*.cpp", "runtime/*.cpp"):
        opened = None
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if line.endswith("{") and not line.startswith((" ", "namespace", "}", "struct", "enum",
                                                           "class", "constexpr", "const")):
                opened = number
            elif line == "}" and opened:
                assert number - opened <= 45, f"{path}:{opened} has {number - opened} lines"
                opened = None


def test_documents_link_to_files_that_exist():
    for path in tracked("*.md"):
        for target in re.findall(r"\]\(([^)#:]+)\)", path.read_text()):
            assert (path.parent / target).exists(), (path, target)
