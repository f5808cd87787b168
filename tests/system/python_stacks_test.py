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
STUB = SIMULATOR.parent / "tests" / "programs" / "driver_stub"
STRESS_SECONDS, STRESS_BASE = 1, 65536
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
    def run_python(self, interpreter, program, *arguments, libraries=LIBRARIES, **extra):
        result = self.run_preloaded([interpreter.command, SOURCES / program, *arguments], timeout=240,
                                    LD_LIBRARY_PATH=libraries, PYTHONDONTWRITEBYTECODE=1, **extra)
        self.assertEqual(result.returncode, 0, result.stderr[-2000:])
        self.output = result.stdout
        return PythonTrace(dump(self.trace))

    def fresh(self, name):
        self.trace = self.directory / name

    def compare(self, trace, records, depth=DEPTH):
        """Every allocation of `records` against the trace: {case: [what differs]}, and how many had their runs counted."""
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
                        wrong[record["case"]].append(f"{record['size']}: {evaluations} loops, frames {frames}")
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

    def test_code_objects_that_come_and_go(self):
        for interpreter in READ:
            with self.subTest(str(interpreter)):
                self.fresh(f"stress-{interpreter.text}")
                trace = self.run_python(interpreter, "python_stress.py", STRESS_SECONDS, VRAMTRACE_FREE_STACKS=0)
                allocations = [event for event in trace.events if event["kind"] == "DeviceAlloc"]
                walks, made = map(int, self.output.split())
                self.assertEqual(len(allocations), walks)
                wrong = []
                for event in allocations:
                    names = [f.name for f in trace.stacks(event)[1] or ()]
                    depth = (event["size"] - STRESS_BASE) // 8
                    if names[:depth + 2] != ["walk"] * (depth + 1) + ["walker"]:
                        wrong.append((event["size"], names))
                told(f"{interpreter}: {walks} allocations at 40 depths, {made} code objects made, {len(wrong)} wrong")
                self.assertFalse(wrong, wrong[:3])

    def test_handler_that_interrupts_the_interpreter(self):
        """A handler written in C finds the interpreter in the middle of anything. What it finds may be out of date."""
        source = (SOURCES / "python_interrupted.py").read_text()
        for interpreter in READ:
            with self.subTest(str(interpreter)):
                self.fresh(f"interrupted-{interpreter.text}")
                trace = self.run_python(interpreter, "python_interrupted.py", PROGRAMS / "python_interrupt.so", 1,
                                        libraries=STUB)
                refused = [event for event in trace.events if event["kind"] == "CallFailed"]
                self.assertEqual(len(refused), int(self.output))
                self.assertGreater(len(refused), 20)
                stacks = [trace.stacks(event)[1] for event in refused]
                taken = sum(s is not None for s in stacks)
                told(f"{interpreter}: {len(refused)} interruptions, {taken} with Python frames")
                self.assertGreater(taken, len(refused) * 9 // 10)
                for frame in {repr(f): f for stack in stacks for f in stack or ()}.values():
                    # ctypes was in the middle of the call that set the timer; a module begins on line 0 since 3.12.
                    if pathlib.Path(frame.file).is_absolute() and not frame.file.endswith("python_interrupted.py"):
                        self.assertIn("ctypes", frame.file)
                        continue
                    name = frame.name.split(".")[-1].strip("<>")
                    known = name.startswith("made") or name in ("module", "lambda", "listcomp") or \
                        f"def {name}(" in source or f"class {name}:" in source
                    self.assertTrue(known, frame)
                    self.assertTrue(frame.line is None or 0 <= frame.line <= source.count("\n"), frame)

    def test_interpreter_that_comes_late_and_goes(self):
        """A program loads libpython, its symbols kept to itself; threads with and without Python; finalized, unloaded."""
        tried = 0
        for interpreter in READ:
            if interpreter.library is None:
                continue
            tried += 1
            with self.subTest(str(interpreter)):
                self.fresh(f"embedded-{interpreter.text}")
                result = self.run_preloaded([PROGRAMS / "python_embedded", interpreter.library], timeout=120,
                                            PYTHONHOME=interpreter.prefix)
                self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
                trace = PythonTrace(dump(self.trace))
                stacks = {event["size"]: trace.stacks(event)[1] for event in trace.events
                          if event["kind"] == "DeviceAlloc"}
                expected = [("inner", 2), ("outer", 4), ("<module>", 1)]
                for size in (5001, 5004, 5005, 5009, 5011):
                    self.assertIsNone(stacks[size], size)
                for size in (5003, 5007):
                    self.assertEqual([(f.name, f.line) for f in stacks[size]], expected, size)
                self.assertEqual(trace.facts("python"), [f"CPython {interpreter.text}"])
        told(f"embedded: {tried} interpreters that are libraries")

    def test_fork(self):
        for interpreter in READ:
            with self.subTest(str(interpreter)):
                self.fresh(f"fork-{interpreter.text}")
                trace = self.run_python(interpreter, "python_forks.py")
                asked = [(event["pid"], trace.stacks(event)[1]) for event in trace.events
                         if event["kind"] in ("DeviceAlloc", "CallFailed") and event["size"] in (5001, 5003)]
                names = [(pid == asked[0][0], [f.name for f in stack]) for pid, stack in asked]
                self.assertCountEqual(names, [(True, ["ask", "in_parent", "<module>"])] * 2 +
                                      [(False, ["ask", "in_child", "<module>"])])

    def test_switched_off(self):
        interpreter = READ[-1]
        trace = self.run_python(interpreter, "python_forks.py", VRAMTRACE_PYTHON_STACKS=0)
        self.assertFalse([row for row in trace.definitions.values() if row["kind"] in ("JoinedStack", "CodeObject")])
        self.assertTrue(all(trace.stacks(event)[0] for event in trace.events if event["kind"] == "DeviceAlloc"))

    def test_interpreters_that_are_not_known(self):
        """Older ones and free-threaded builds: native stacks alone, and a fact that says why."""
        for interpreter in INTERPRETERS:
            if interpreter.frames_are_read or interpreter.name != "cpython":
                continue
            with self.subTest(str(interpreter)):
                self.fresh(f"unknown-{interpreter.text}-{interpreter.free_threaded}")
                trace = self.run_python(interpreter, "python_forks.py")
                why = "a free-threaded build" if interpreter.free_threaded else "a version that is not known here"
                self.assertEqual(set(trace.facts("python_frames")), {f"off: CPython {interpreter.text}: {why}"})
                self.assertFalse([row for row in trace.definitions.values() if row["kind"] == "JoinedStack"])
                self.assertTrue(all(trace.stacks(event)[0] for event in trace.events if event["kind"] == "DeviceAlloc"))
                told(f"{interpreter}: off, as it should be")


def trace_has_qualified_names(trace):
    return any(row["kind"] == "CodeObject" and row["form"] == "location" for row in trace.definitions.values())


if __name__ == "__main__":
    told("interpreters: " + "; ".join(map(str, INTERPRETERS)))
    unittest.main(verbosity=2)
