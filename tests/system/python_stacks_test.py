# SPDX-License-Identifier: Apache-2.0
"""Python frames in the trace against what the interpreter itself says, for every interpreter of this machine.

Which ones: tests/support/python_versions.py (PATH, pyenv, VRAMTRACE_TEST_PYTHONS). Each that was run is named on stderr.
"""
import bisect
import collections
import json
import pathlib
import subprocess
import sys
import unittest

from preloaded_run import PROGRAMS, SIMULATOR, Case, dump
from python_trace import PythonTrace
from python_versions import interpreters

SOURCES = pathlib.Path(__file__).resolve().parent.parent / "programs"
AT_FINALIZATION = 777777
DEPTH = 128
LIBRARIES = f"{SIMULATOR / 'lib'}:{SIMULATOR}"
INTERPRETERS = interpreters()
READ = [i for i in INTERPRETERS if i.frames_are_read]


def told(text):
    print(f"    {text}", file=sys.stderr, flush=True)


class EvaluationLoops:
    """Which native frames are the interpreter's evaluation loop, by the symbols of its file; None without symbols."""

    def __init__(self):
        self.known = {}

    def ranges(self, module):
        path = module["text"].split(" build-id ")[0]
        if path not in self.known:
            found = []
            lines = []
            for table in ([], ["-D"]):
                lines += subprocess.run(["nm", *table, "-S", "--defined-only", path], capture_output=True,
                                        text=True).stdout.splitlines()
            for line in lines:
                parts = line.split()
                if len(parts) == 4 and parts[3].split(".")[0] == "_PyEval_EvalFrameDefault":
                    found.append((int(parts[0], 16), int(parts[0], 16) + int(parts[1], 16)))
            self.known[path] = sorted(set(found))
        return self.known[path]

    def count(self, native):
        loops = 0
        for module, offset in native:
            ranges = self.ranges(module)
            at = bisect.bisect_right(ranges, (offset, float("inf"))) - 1
            loops += at >= 0 and ranges[at][0] <= offset < ranges[at][1]
        return loops


class PythonStacks(Case):
    def run_python(self, interpreter, program, *arguments, **extra):
        result = self.run_preloaded([interpreter.command, SOURCES / program, *arguments], timeout=240,
                                    LD_LIBRARY_PATH=LIBRARIES, PYTHONDONTWRITEBYTECODE=1, **extra)
        self.assertEqual(result.returncode, 0, result.stderr[-2000:])
        return PythonTrace(dump(self.trace))

    def fresh(self, name):
        self.trace = self.directory / name

    def compare(self, trace, records, depth=DEPTH):
        """Every allocation of `records` with its stack in the trace: {case: [what differs]} and how many were compared."""
        events = {event["size"]: event for event in trace.events if event["kind"] == "DeviceAlloc"}
        wrong = collections.defaultdict(list)
        loops, checked_loops = EvaluationLoops(), 0
        for record in records:
            event = events.get(record["size"])
            if event is None:
                wrong[record["case"]].append(f"no event of {record['size']} bytes")
                continue
            native, frames = trace.stacks(event)
            expected = record["stack"][:depth]
            got = [(f.file, f.line, f.name) for f in frames or ()]
            qualified = trace_has_qualified_names(trace)
            want = [(file, line, full if qualified else name) for file, line, name, full in expected]
            if got != want:
                wrong[record["case"]].append(f"{record['size']}: got {got} want {want}")
            truncated = len(record["stack"]) > depth
            if frames and not truncated and native is not None and len(native) < depth:
                evaluations = loops.count(native)
                if evaluations:
                    checked_loops += 1
                    if sum(f.entered for f in frames) != evaluations or not frames[-1].entered:
                        wrong[record["case"]].append(f"{record['size']}: {evaluations} evaluation loops, frames {frames}")
        return wrong, checked_loops

    def test_every_allocation_as_traceback_says(self):
        self.assertTrue(READ, "no interpreter here that could be tested")
        for interpreter in READ:
            with self.subTest(str(interpreter)):
                self.fresh(f"situations-{interpreter.text}")
                result = self.directory / f"result-{interpreter.text}"
                trace = self.run_python(interpreter, "python_situations.py", result)
                lines = [json.loads(line) for line in result.read_text().splitlines()]
                records, about = lines[:-1], lines[-1]
                self.assertGreater(len(records), 900)
                wrong, loops = self.compare(trace, records)
                self.assertEqual(trace.facts("python")[0].split("+")[0], f"CPython {about['python'].split('+')[0]}")
                self.assertEqual(trace.facts("python_frames"), [])
                mismatches = sum(map(len, wrong.values()))
                told(f"{interpreter}: {len(records)} allocations, {mismatches} mismatches, {loops} with counted runs")
                self.assertFalse(wrong, f"{mismatches} mismatches, first of each case: " +
                                 "\n".join(f"{case}: {what[0][:1500]}" for case, what in wrong.items()))
                last = [event for event in trace.events if event["size"] == AT_FINALIZATION]
                self.assertEqual(len(last), 1, "the allocation in module teardown")
                self.assertIsNone(trace.stacks(last[0])[1], "frames are not read once the interpreter ends")


def trace_has_qualified_names(trace):
    return any(row["kind"] == "CodeObject" and row["form"] == "location" for row in trace.definitions.values())


if __name__ == "__main__":
    told("interpreters: " + "; ".join(map(str, INTERPRETERS)))
    unittest.main(verbosity=2)
