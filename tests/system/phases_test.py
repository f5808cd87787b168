# SPDX-License-Identifier: Apache-2.0
"""Phases end to end: the marker interface from C and Python, NVTX, recording switched on and off."""
import json
import os
import pathlib
import sys
import unittest

from preloaded_run import PROGRAMS, SHIM, Case, dump, report

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = SOURCE / "shim" / "api" / "python"


def phases(document, process=0):
    return {row["path"]: row for row in document["processes"][process]["phases"]["rows"]}


def sums(row, quantity="device"):
    return next(s for s in row["sums"] if s["quantity"] == quantity)


class Markers(Case):
    def check_marked(self, document, process=0):
        rows = phases(document, process)
        self.assertEqual(list(rows), ["unfinished", "load", "step", "step/forward",
                                      "crossing", "worker"])
        load, step, forward = rows["load"], rows["step"], rows["step/forward"]
        self.assertEqual(sums(load)["allocated"], {"bytes": 1000001, "count": 1})
        self.assertEqual(sums(load)["left"], {"bytes": 0, "count": 0})
        self.assertEqual(step["occurrences"], 3)
        # Another thread's allocation inside main's first step counts in it.
        self.assertEqual(sums(step)["allocated"], {"bytes": 3 * (500003 + 70001) + 300001, "count": 7})
        self.assertEqual(sums(step)["change_bytes"], 3 * 70001)
        self.assertEqual(sums(step)["survivors"], {"bytes": 3 * 70001, "count": 3})
        self.assertEqual(sums(step)["rise_bytes"], 500003 + 70001)
        self.assertEqual(sums(forward)["left"], {"bytes": 3 * 70001, "count": 3})
        self.assertEqual(sums(forward)["peak_bytes"], 1000001 + 500003 + 3 * 70001)
        self.assertEqual(sums(rows["crossing"])["allocated"], {"bytes": 300001, "count": 1})
        self.assertEqual(rows["unfinished"]["open"], 1)
        self.assertTrue(step["by_marker"])
        self.assertFalse(step["by_nvtx"])

    def test_ranges_of_a_program(self):
        for program in ("marked_phases", "marked_phases_no_pie"):
            with self.subTest(program):
                self.trace = self.directory / program
                done = self.run_preloaded([PROGRAMS / program])
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(done.stdout.splitlines(), ["recording 1", f"directory {len(str(self.trace))} {self.trace}"])
                document = report(self.trace)
                self.check_marked(document)
                found = document["processes"][0]["phases"]
                self.assertEqual((found["marks"], found["unmatched_ends"]), (3, 1))

    def test_without_the_library(self):
        for program in ("marked_phases", "marked_phases_no_pie"):
            done = self.run_native([PROGRAMS / program])
            self.assertEqual((done.returncode, done.stdout), (0, "recording 0\ndirectory 0 \n"))

    def test_a_fork_begins_anew(self):
        done = self.run_preloaded([PROGRAMS / "marked_phases", "fork"])
        self.assertEqual(done.returncode, 0, done.stderr)
        document = report(self.trace)
        self.assertEqual(len(document["processes"]), 2)
        whole = ["load", "step", "step/forward", "crossing", "worker"]
        found = sorted([list(phases(document, i)) for i in range(2)], key=len)
        # What is open in the parent is not open in the child.
        self.assertEqual(found, [whole, ["unfinished", *whole]])

    def test_cut_to_a_phase(self):
        self.run_preloaded([PROGRAMS / "marked_phases"])
        whole = report(self.trace)["processes"][0]
        self.assertIsNone(whole["cut"])
        forward = report(self.trace, "--phase", "step/forward")["processes"][0]
        self.assertEqual((forward["cut"]["phase"], forward["cut"]["ranges"]), ("step/forward", 3))
        self.assertEqual(forward["leak_summary"]["bytes"], 3 * 70001)
        self.assertEqual(forward["churn"]["rows"], [])
        self.assertEqual(forward["devices"][0]["peak"]["bytes"], 1000001 + 500003 + 3 * 70001)
        by_site = forward["devices"][0]["peak"]["by_site"]
        self.assertEqual(sum(row["bytes"] for row in by_site["rows"]), 1000001 + 500003 + 3 * 70001)
        load = report(self.trace, "--phase", "load")["processes"][0]
        self.assertEqual(load["leak_summary"]["bytes"], 0)
        self.assertEqual(load["devices"][0]["peak"]["bytes"], 1000001)
        self.assertEqual(load["churn"]["total"]["bytes"], 1000001)
        everything = report(self.trace, "--phase", "*")["processes"][0]
        for section in ("leaks", "devices", "totals", "churn", "failures", "findings"):
            self.assertEqual(everything[section], whole[section], section)
        with self.assertRaisesRegex(AssertionError, r"\(3\).*no phase matches 'nothing'; there are unfinished, "):
            report(self.trace, "--phase", "nothing")


class Recording(Case):
    def test_stopped_by_the_program(self):
        self.run_preloaded([PROGRAMS / "marked_phases"])
        events = dump(self.trace)
        sizes = [e["size"] for e in events if e["kind"] == "DeviceAlloc"]
        self.assertNotIn(900001, sizes)  # allocated while it was off
        self.assertIn(100, sizes)
        process = report(self.trace)["processes"][0]
        self.assertEqual(process["recording"]["pauses"], 1)
        self.assertIsNone(process["recording"]["paused_ns"])
        self.assertIsNone(process["recording"]["judged_until_ns"])
        # Freed while it was off: no leak, and no stack was taken.
        weights = next(e for e in events if e["size"] == 1000001)
        freed = next(e for e in events if e["kind"] == "DeviceFree" and e["address"] == weights["address"])
        self.assertEqual(freed["stack"], 0)
        self.assertEqual(process["leak_summary"]["bytes"], 3 * 70001)

    def test_not_before_start(self):
        self.run_preloaded([PROGRAMS / "marked_phases"], VRAMTRACE_START=0)
        events = dump(self.trace)
        self.assertEqual([e["size"] for e in events if e["kind"] == "DeviceAlloc"], [100])
        process = report(self.trace)["processes"][0]
        self.assertEqual(process["leak_summary"]["bytes"], 0)
        # All that was made before and freed later is told in one number.
        self.assertEqual(process["recording"]["oddities"]["unmatched_releases"], 6)
        self.assertIsNone(process["recording"]["paused_ns"])

    def test_minimum_size(self):
        self.run_preloaded([PROGRAMS / "marked_phases"], VRAMTRACE_MIN_SIZE="128K")
        sizes = [e["size"] for e in dump(self.trace) if e["kind"] == "DeviceAlloc"]
        self.assertEqual(sorted(sizes), [300001, 500003, 500003, 500003, 1000001])
        recording = report(self.trace)["processes"][0]["recording"]
        self.assertEqual(recording["losses"]["too_small"], 4)
        self.assertEqual(recording["lost_events"], 0)
        self.assertIsNone(recording["judged_until_ns"])


class Nvtx(Case):
    EXPECTED = {"plain": 1001, "plain/lib:registered": 1003, "wé中😀": 1007, "crossing": 1009, "(unnamed)": 1011}

    def setUp(self):
        super().setUp()
        if not (PROGRAMS / "nvtx_phases").exists():
            self.skipTest("built without the NVTX headers")

    def test_ranges(self):
        done = self.run_preloaded([PROGRAMS / "nvtx_phases"], NVTX_INJECTION64_PATH=SHIM)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, self.run_native([PROGRAMS / "nvtx_phases"]).stdout)
        document = report(self.trace)
        rows = phases(document)
        self.assertEqual(list(rows), list(self.EXPECTED))
        for path, size in self.EXPECTED.items():
            # A range of a domain lives on after its thread's outer range has ended.
            more = {"plain": 1003, "plain/lib:registered": 1005}.get(path, 0)
            self.assertEqual(sums(rows[path])["allocated"]["bytes"], size + more, path)
            self.assertEqual((rows[path]["by_nvtx"], rows[path]["by_marker"], rows[path]["open"]), (True, False, 0))
        found = document["processes"][0]["phases"]
        self.assertEqual((found["marks"], found["unmatched_ends"]), (1, 0))

    def test_handles_of_the_parent_in_a_child(self):
        done = self.run_preloaded([PROGRAMS / "nvtx_phases", "fork"], NVTX_INJECTION64_PATH=SHIM)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(list(phases(report(self.trace))), list(self.EXPECTED))

    def test_another_tool_stays(self):
        self.run_preloaded([PROGRAMS / "nvtx_phases"], NVTX_INJECTION64_PATH="/nowhere/libtool.so")
        process = report(self.trace)["processes"][0]
        self.assertEqual(process["phases"]["rows"], [])
        self.assertEqual(process["recording"]["other_nvtx_tool"], "/nowhere/libtool.so")


class Python(Case):
    def told(self, run, **extra):
        done = run([sys.executable, SOURCE / "tests/programs/python_regions.py"], PYTHONPATH=str(PACKAGE), **extra)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_with_the_library(self):
        told = self.told(self.run_preloaded, timeout=120)
        self.assertEqual((told["recording"], told["stopped"], told["started"]), (True, False, True))
        self.assertEqual((told["directory_before"], told["directory"]), (None, str(self.trace)))
        inner = {"change_bytes": 700, "peak_bytes": 6700, "rise_bytes": 5700, "allocated_bytes": 5700,
                 "survivor_bytes": 700, "survivors": 1, "why": None}
        self.assertEqual(told["inner"], inner)
        outer = {"change_bytes": 1700, "peak_bytes": 6700, "rise_bytes": 6700, "allocated_bytes": 6700,
                 "survivor_bytes": 1700, "survivors": 2, "why": None}
        self.assertEqual(told["outer"], outer)
        self.assertEqual(told["outer_running"], outer)
        self.assertEqual(told["returned"], 6000)
        self.assertEqual(told["line"], "vramtrace: step: +0 B, peak 4.58 KiB (+2.92 KiB), 0 survivors of 0 B\n")
        self.assertEqual(told["often"]["allocated_bytes"], 64)
        self.assertEqual([t["survivor_bytes"] for t in told["threads"]], [1024, 2048])
        rows = phases(report(self.trace))
        self.assertEqual(list(rows), ["outer", "outer/inner", "step", "often", "threaded"])
        self.assertEqual(rows["often"]["occurrences"], 41)

    def test_without_the_library(self):
        told = self.told(self.run_native)
        self.assertEqual((told["recording"], told["stopped"], told["started"]), (False, False, False))
        self.assertIsNone(told["directory"])
        for name in ("inner", "outer", "often"):
            self.assertEqual({told[name][k] for k in told[name] if k != "why"}, {None})
            self.assertEqual(told[name]["why"], "vramtrace is not there")
        self.assertEqual(told["line"], "vramtrace: step: no numbers: vramtrace is not there\n")

    def test_without_the_program(self):
        empty = self.directory / "empty"
        empty.mkdir()
        done = self.run_preloaded([sys.executable, "-c", "import vramtrace as v\nv.program='/nowhere'\nr=v.region('a')\n"
                                   "with r: pass\nprint(r.peak_bytes, r.why)"], PYTHONPATH=str(PACKAGE), drain=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stdout.startswith("None there is no trace"), done.stdout)
        self.assertFalse(self.trace.exists())  # a range alone opens no trace


if __name__ == "__main__":
    os.environ.pop("NVTX_INJECTION64_PATH", None)
    unittest.main()
