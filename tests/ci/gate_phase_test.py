# SPDX-License-Identifier: Apache-2.0
"""The gate cut to a phase: of finished jobs and of running ones."""
import subprocess
import sys
import unittest

from ci_tools import JOB, PACKAGE, check
from preloaded_run import Case, preloaded_environment


class Finished(Case):
    def gate(self, *options):
        return check(*options, self.trace, cwd=self.directory)

    def job(self, *words):
        done = self.run_preloaded([sys.executable, JOB, *words], PYTHONPATH=PACKAGE)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_phases(self):
        self.job("leaky", "clean", "idle")
        whole = self.gate("--leaked-bytes", 0)
        self.assertEqual(whole.returncode, 23, whole.stdout)
        leaky = self.gate("--leaked-bytes", 0, "--phase", "leaky")
        self.assertEqual(leaky.returncode, 23, leaky.stdout)
        self.assertIn("3,000 bytes", leaky.stdout)
        clean = self.gate("--leaked-bytes", 0, "--phase", "clean")
        self.assertEqual(clean.returncode, 0, clean.stdout)
        peak = self.gate("--peak", 7999, "--phase", "clean")  # what is live then, whenever it was born
        self.assertEqual(peak.returncode, 23, peak.stdout)
        self.assertEqual(self.gate("--peak", 8000, "--phase", "clean").returncode, 0)

    def test_no_such_phase(self):
        self.job("clean")
        none = self.gate("--phase", "clear")
        self.assertEqual(none.returncode, 24, none.stdout)
        self.assertIn("no phase matches 'clear'; there are clean", none.stdout)

    def test_a_phase_without_memory(self):
        self.job("clean", "idle")
        idle = self.gate("--phase", "idle")
        self.assertEqual(idle.returncode, 24, idle.stdout)
        self.assertIn("no CUDA allocation was recorded in phase 'idle'", idle.stdout)

    def test_from_the_gate_file(self):
        self.job("leaky", "clean")
        file = self.directory / "vramtrace.toml"
        file.write_text('[gate]\nleaked_bytes = 0\nphase = "clean"\n')
        self.assertEqual(self.gate().returncode, 0)
        self.assertEqual(self.gate("--phase", "leaky").returncode, 23)  # the command line says more
        file.write_text('[gate]\nleaked_bytes = 0\nphase = "nothing"\n')
        self.assertEqual(self.gate().returncode, 24)

    def test_a_process_that_is_not_there(self):
        self.job("clean")
        gone = self.gate("--pid", 1)
        self.assertEqual(gone.returncode, 24, gone.stdout)
        self.assertIn("the trace has no process 1", gone.stdout)

    def test_options_that_need_a_phase(self):
        self.job("clean")
        for option in ("--running", "--survivors"):
            self.assertEqual(self.gate(option).returncode, 2, option)


class Running(Case):
    def setUp(self):
        super().setUp()
        environment = preloaded_environment(self.trace, PYTHONPATH=PACKAGE)
        self.job = subprocess.Popen([sys.executable, JOB, "leaky", "clean", "begin", "wait"], env=environment,
                                    cwd=self.directory, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.assertEqual(self.job.stdout.readline(), "ready\n")

    def tearDown(self):
        self.job.communicate("\n", timeout=60)

    def test_what_has_ended(self):
        def gate(*options):
            return check("--leaked-bytes", 0, "--pid", self.job.pid, *options, self.trace, cwd=self.directory)
        plain = gate("--phase", "clean")
        self.assertEqual(plain.returncode, 24, plain.stdout)
        self.assertIn("is still running", plain.stdout)
        clean = gate("--phase", "clean", "--running")
        self.assertEqual(clean.returncode, 0, clean.stdout)
        leaky = gate("--phase", "leaky", "--running")
        self.assertEqual(leaky.returncode, 23, leaky.stdout)
        begun = gate("--phase", "open", "--running")
        self.assertEqual(begun.returncode, 24, begun.stdout)
        self.assertIn("is still in phase 'open'", begun.stdout)


if __name__ == "__main__":
    unittest.main()
