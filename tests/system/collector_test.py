# SPDX-License-Identifier: Apache-2.0
"""vramtrace-collect as a program: it starts anywhere, holds nothing of its caller's, goes by itself."""
import os
import signal
import struct
import subprocess
import time
import unittest

from preloaded_run import COLLECTOR, Case, wait_for


class Collector(Case):
    def setUp(self):
        super().setUp()
        self.trace.mkdir()

    def start(self, *options, **popen):
        process = subprocess.Popen([COLLECTOR, "--directory", self.trace, *options], **popen)
        self.addCleanup(lambda: (process.kill(), process.wait()))
        return process

    def test_needs_no_interpreter_and_no_library(self):
        image = COLLECTOR.read_bytes()
        offset, = struct.unpack_from("<Q", image, 32)
        size, count = struct.unpack_from("<HH", image, 54)
        kinds = [struct.unpack_from("<I", image, offset + i * size)[0] for i in range(count)]
        self.assertIn(1, kinds)  # PT_LOAD
        self.assertNotIn(3, kinds)  # PT_INTERP

    @unittest.skipUnless(os.geteuid() == 0, "chroot needs root")
    def test_starts_in_an_empty_root(self):
        root = self.directory / "root"
        (root / "trace").mkdir(parents=True)
        (root / "collect").write_bytes(COLLECTOR.read_bytes())
        (root / "collect").chmod(0o755)
        result = subprocess.run(["/collect", "--directory", "/trace"], env={}, timeout=20,
                                preexec_fn=lambda: (os.chroot(root), os.chdir("/")))
        self.assertEqual(result.returncode, 0)
        self.assertTrue((root / "trace" / "collector.lock").exists())

    def test_goes_by_itself_after_two_seconds_without_a_job(self):
        begin = time.monotonic()
        self.assertEqual(self.start().wait(timeout=20), 0)
        self.assertGreater(time.monotonic() - begin, 1.9)

    def test_stays_for_the_process_it_was_told(self):
        sleeper = subprocess.Popen(["sleep", "3"])
        collector = self.start("--for", str(sleeper.pid))
        sleeper.wait()
        self.assertIsNone(collector.poll())
        self.assertEqual(collector.wait(timeout=20), 0)

    def test_does_not_hold_its_callers_pipe_open(self):
        begin = time.monotonic()
        result = subprocess.run(["sh", "-c", '"$0" --directory "$1" & echo done', COLLECTOR, self.trace],
                                capture_output=True, text=True, timeout=20)
        self.assertEqual(result.stdout, "done\n")
        self.assertLess(time.monotonic() - begin, 1.9)

    def test_a_second_one_goes_at_once(self):
        first = self.start()
        wait_for(lambda: (self.trace / "collector.lock").exists(), what="the lock")
        time.sleep(0.2)
        second = self.start()
        self.assertEqual(second.wait(timeout=20), 0)
        self.assertIsNone(first.poll())

    def test_sigterm_ends_it_and_ctrl_c_does_not(self):
        collector = self.start()
        wait_for(lambda: (self.trace / "collector.lock").exists(), what="the lock")
        collector.send_signal(signal.SIGINT)
        time.sleep(0.3)
        self.assertIsNone(collector.poll())
        begin = time.monotonic()
        collector.send_signal(signal.SIGTERM)
        self.assertEqual(collector.wait(timeout=20), 0)
        self.assertLess(time.monotonic() - begin, 1)

    def test_wrong_use_is_said(self):
        def run(*arguments):
            return subprocess.run([COLLECTOR, *arguments], capture_output=True, text=True, timeout=20)
        for arguments in [(), ("--directory",), ("--for", "x", "--directory", "/"), ("--unknown", "1")]:
            result = run(*arguments)
            self.assertEqual((result.returncode, result.stderr.startswith("usage:")), (2, True), arguments)
        result = run("--directory", str(self.directory / "nothing"))
        self.assertEqual((result.returncode, "is not a directory" in result.stderr), (3, True))


if __name__ == "__main__":
    unittest.main()
