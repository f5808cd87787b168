# SPDX-License-Identifier: Apache-2.0
"""`vramtrace diff` end to end: a program before and after a fix that also moves its lines; two phases of one run."""
import json
import subprocess
import unittest

from preloaded_run import PROGRAMS, VRAMTRACE, Case

KIB = 1024


def diff(*arguments):
    return subprocess.run([VRAMTRACE, "diff", *map(str, arguments)], capture_output=True, text=True, timeout=120)


class Diff(Case):
    def record(self, program):
        self.trace = self.directory / program
        done = self.run_preloaded([PROGRAMS / program])
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.trace

    def device(self, *arguments):
        done = diff("--json", *arguments)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        document = json.loads(done.stdout)
        self.assertEqual((document["schema_version"], document["comparable"]), (1, True))
        found = next(q for q in document["processes"][0]["quantities"] if q["quantity"] == "device")
        return found, lambda name: [s for s in found["sites"] if name in s["title"]]

    def test_a_fix(self):
        before, after = self.record("before_the_fix"), self.record("after_the_fix")
        device, site = self.device(before, after)
        self.assertEqual(device["change"]["left"], (50 - 70 - 10 * 300) * KIB)
        (forward,), (backward,), (model,) = site("forward_pass"), site("backward_pass"), site("load_model")
        self.assertEqual(forward["change"]["left"], -10 * 300 * KIB)
        self.assertEqual(forward["change"]["allocated"], 0)
        self.assertEqual(backward["change"], {"left": 0, "at_peak": -1024 * KIB, "allocated": -10 * 1024 * KIB})
        self.assertEqual((forward["state"], backward["state"], model["state"]), ("both",) * 3)
        self.assertEqual(model["change"], {"left": 0, "at_peak": 0, "allocated": 0})
        self.assertEqual(site("fill_cache")[0]["state"], "new")
        self.assertEqual(site("debug_copy")[0]["state"], "gone")
        # The other way round everything has the other sign.
        self.assertEqual(self.device(after, before)[0]["change"]["left"], (70 - 50 + 10 * 300) * KIB)
        # By lines nothing of the program's is the same any more.
        self.assertEqual({s["state"] for s in self.device("--lines", before, after)[1]("forward_pass")}, {"new", "gone"})
        text = diff(before, after).stdout
        self.assertIn("GONE", text)
        self.assertIn("-2.92 MiB", text)

    def test_phases(self):
        trace = self.record("marked_phases")
        device, _ = self.device("--phase-a", "load", "--phase-b", "step", trace)
        self.assertEqual(device["before"]["allocated"], {"bytes": 1000001, "count": 1})
        self.assertEqual(device["after"]["allocated"], {"bytes": 3 * (500003 + 70001) + 300001, "count": 7})
        self.assertEqual(diff("--phase-a", "load", "--phase-b", "nowhere", trace).returncode, 3)
        self.assertEqual(diff(trace).returncode, 2)
        self.assertEqual(diff("--pid-a", 1, trace, trace).returncode, 3)


if __name__ == "__main__":
    unittest.main()
