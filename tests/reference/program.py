# SPDX-License-Identifier: Apache-2.0
"""Runs the program for a bench: OMNIBAL_PROGRAM, or the release build.

    ask("plan", corpus, *flags)                # its JSON; ends the bench if it fails
    ask("plan", ..., none_if=INFEASIBLE)       # None where there is no answer
"""
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
OMNIBAL = ROOT / os.environ.get("OMNIBAL_PROGRAM", "build/release/bin/omnibal")
INFEASIBLE = 4  # exit status: no answer exists


def ask(*arguments, none_if=None):
    done = subprocess.run([str(OMNIBAL), *map(str, arguments), "--json", "--quiet"],
                          capture_output=True, text=True)
    if done.returncode == none_if:
        return None
    if done.returncode != 0:
        sys.exit(f"failed: omnibal {' '.join(map(str, arguments))}\n{done.stderr}")
    return json.loads(done.stdout)
