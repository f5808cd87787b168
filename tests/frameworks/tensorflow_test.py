# SPDX-License-Identifier: Apache-2.0
"""The hooks of TensorFlow's allocator on a real TensorFlow: blocks against what TensorFlow says of its own memory.

Skipped (exit code 77) where there is none. Looked for: $TENSORFLOW_PYTHON, .venv-frameworks/bin/python, python3.
"""
import os
import pathlib
import subprocess
import sys
import unittest

from preloaded_run import Case, dump

HERE = pathlib.Path(__file__).resolve().parent
ONE_THREAD = {"TF_NUM_INTRAOP_THREADS": 1, "TF_NUM_INTEROP_THREADS": 1, "OMP_NUM_THREADS": 1}
QUIET = {"TF_CPP_MIN_LOG_LEVEL": 2, "TF_CPU_ALLOCATOR_USE_BFC": 1, "PYTHONDONTWRITEBYTECODE": 1, **ONE_THREAD}


def python_with_tensorflow():
    for python in filter(None, (os.environ.get("TENSORFLOW_PYTHON"), HERE.parents[1] / ".venv-frameworks/bin/python",
                                sys.executable)):
        look = "import importlib.util, sys; sys.exit(importlib.util.find_spec('tensorflow') is None)"
        try:
            if subprocess.run([python, "-c", look], capture_output=True, timeout=60).returncode == 0:
                return str(python)
        except OSError:
            continue
    return None


PYTHON = python_with_tensorflow()


class RealTensorFlow(Case):
    def told(self, result):
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr[-2000:])
        lines = [line.split() for line in result.stdout.splitlines()]
        return lines, {int(w[1]): (int(w[3]), int(w[5])) for w in lines if w[0] == "at"}

    def recorded_at_marks(self):
        """(live, peak) bytes of recorded blocks at each mark, and all events of blocks."""
        live, now, peak, at, blocks = {}, 0, 0, {}, []
        for event in dump(self.trace):
            if event["kind"] == "DeviceAlloc":
                at[event["size"]] = (now, peak)
            elif event["kind"] == "BlockAlloc":
                self.assertNotIn(event["address"], live)
                live[event["address"]] = event["size"]
                now += event["size"]
                peak = max(peak, now)
            elif event["kind"] == "BlockFree":
                now -= live.pop(event["address"])
            else:
                if event["kind"] != "FrameworkOutOfMemory":
                    continue
            if event["kind"] != "DeviceAlloc":
                blocks.append(event)
        return at, blocks

    def test_blocks_are_what_tensorflow_says(self):
        lines, told = self.told(self.run_preloaded([PYTHON, HERE / "tensorflow_job.py"], timeout=300, **QUIET))
        at, blocks = self.recorded_at_marks()
        self.assertEqual({mark: at[mark] for mark in told}, told)
        self.assertEqual(len(told), 8)
        self.assertGreater(len(blocks), 1000)
        self.assertGreater(len({current for current, _ in told.values()}), 5)
        for event in blocks:
            self.assertNotEqual(event["stack"], 0)
            self.assertIn("BFCAllocator::", event["api"])

    def test_what_it_computes_is_the_same(self):
        runs = [run([PYTHON, HERE / "tensorflow_job.py"], timeout=300, **QUIET)
                for run in (self.run_native, self.run_preloaded)]
        losses = [[w for w in self.told(run)[0] if w[0] == "loss"] for run in runs]
        self.assertEqual(losses[0], losses[1])
        self.assertEqual(len(losses[0]), 1)

    def test_out_of_memory(self):
        result = self.run_preloaded([PYTHON, HERE / "tensorflow_job.py", "oom"], timeout=300,
                                    TF_CPU_BFC_MEM_LIMIT_IN_MB=64, **QUIET)
        lines, told = self.told(result)
        self.assertIn(["exhausted"], lines)
        at, blocks = self.recorded_at_marks()
        self.assertEqual({mark: at[mark] for mark in told}, told)
        failed = [e["size"] for e in blocks if e["kind"] == "FrameworkOutOfMemory"]
        self.assertEqual(failed, [200 << 20])


if __name__ == "__main__":
    if PYTHON is None:
        print("no TensorFlow is installed here")
        sys.exit(77)
    unittest.main()
