# SPDX-License-Identifier: Apache-2.0
"""The loader's answers with and without us: loader_calls_test.py LIBRARY HOST PLUGIN NEIGHBOUR NEIGHBOUR

Every place of libvramtrace.so among other preloads must leave the program's output as it is without us, and a non-CUDA
program must create no file.
"""
import itertools
import os
import subprocess
import sys
import tempfile


def run(command, preload, folder):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("VRAMTRACE_")}
    environment.update(LD_PRELOAD=":".join(preload), VRAMTRACE_DIR=os.path.join(folder, "trace"))
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    # A name that nobody defines is asked for with a blank behind it.
    return result.returncode, result.stdout.replace(" \n", "\n"), result.stderr


def main():
    library, host, plugin, first, second = sys.argv[1:]
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for command in ([host], [host, plugin]):
            for neighbours in ([], [first], [first, second], [second, first]):
                native = run(command, neighbours, folder)
                if native[0] != 0:
                    print(f"without us {command} {neighbours} fails: {native}")
                    return 1
                for place in range(len(neighbours) + 1):
                    preload = neighbours[:place] + [library] + neighbours[place:]
                    ours = run(command, preload, folder)
                    if ours != native:
                        failures += 1
                        print(f"{command} under {preload}:\n{ours}\ninstead of\n{native}\n")
        if os.listdir(folder):
            failures += 1
            print("left behind:", list(itertools.chain.from_iterable(os.walk(folder))))
    print("different" if failures else "the same everywhere")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
