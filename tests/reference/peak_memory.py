# SPDX-License-Identifier: Apache-2.0
"""Peak memory of one command, run from a process that is small itself: a child's ru_maxrss counts what
its parent held when it was started.

    answer, peak_mib = measured(["omnibal", "pack", ...])    # its output, peak in MiB; None if it failed
"""
import json
import os
import subprocess
import sys


def measured(command, stdin=None):
    done = subprocess.run([sys.executable, "-I", "-S", __file__, *map(str, command)], input=stdin,
                          stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(done.stdout)
    return found["output"] if found["status"] == 0 else None, found["peak_mib"]


def main():
    process = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, text=True)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    print(json.dumps({"output": output, "status": status, "peak_mib": usage.ru_maxrss / 1024}))


if __name__ == "__main__":
    main()
