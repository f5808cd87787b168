# SPDX-License-Identifier: Apache-2.0
"""How processes begin and end: whatever they do, each leaves a readable trace, and those without CUDA leave none."""
import collections
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import time
import unittest

from preloaded_run import (COLLECTOR, PROGRAMS, SHIM, VRAMTRACE, Case, drained, dump, preloaded_environment, report,
                           wait_for)

# mode → (exit code or −signal, sizes that stay per process role)
MODES = {
    "fork-idle": (0, {"parent": [400001]}),
    "fork-child": (0, {"child": [400011]}),
    "fork-exec": (0, {"parent": [400031], "leaf": [400061]}),
    "vfork-exec": (0, {"parent": [400031], "leaf": [400061]}),
    "exec": (0, {"parent": [400041], "leaf": [400061]}),
    "threads": (0, {"parent": [400105 + 10 * i for i in range(8)]}),
    "return": (0, {"parent": [400051]}),
    "exit": (5, {"parent": [400051]}),
    "_exit": (6, {"parent": [400051]}),
    "quick_exit": (7, {"parent": [400051]}),
    "abort": (-signal.SIGABRT, {"parent": [400051]}),
    "terminate": (-signal.SIGTERM, {"parent": [400051]}),
    "segv": (-signal.SIGSEGV, {"parent": [400051]}),
    "kill": (-signal.SIGKILL, {"parent": [400051]}),
}


def live_sizes(events):
    """Sizes of device memory never freed, straight from the events; the end of the primary context counts as none."""
    live = {}
    for event in events:
        if event["kind"] == "DeviceAlloc":
            live[event["address"]] = event["size"]
        elif event["kind"] == "DeviceFree":
            live.pop(event["address"], None)
    return sorted(live.values())


class Processes(Case):
    def by_process(self):
        events = collections.defaultdict(list)
        for event in dump(self.trace):
            if "ticket" in event:
                events[event["process"]].append(event)
        return events

    def check(self, program, mode):
        code, roles = MODES[mode]
        result = self.run_preloaded([PROGRAMS / program, mode])
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        self.assertNotIn("FAIL", result.stdout)
        processes = self.by_process()
        self.assertEqual(sorted(live_sizes(e) for e in processes.values()), sorted(sorted(s) for s in roles.values()))
        return processes

    def test_a_child_of_a_process_with_cuda_fails_cleanly(self):
        result = self.run_preloaded([PROGRAMS / "fork_exec", "fork-both"])
        native = self.run_native([PROGRAMS / "fork_exec", "fork-both"])
        mask = lambda text: re.sub(r"process (\w+) \d+", r"process \1", text)
        self.assertEqual((result.returncode, mask(result.stdout)), (native.returncode, mask(native.stdout)))
        sizes = [live_sizes(e) for e in self.by_process().values()]
        self.assertIn([400021, 400025], sizes)

    def test_hundreds_of_short_children(self):
        """Forked workers without CUDA, as data loaders make them, leave nothing."""
        script = ("import os, ctypes\n"
                  "cuda = ctypes.CDLL('libcuda.so.1')\n"
                  "assert cuda.cuInit(0) == 0\n"
                  "c = ctypes.c_void_p(); assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(c), 0) == 0\n"
                  "assert cuda.cuCtxSetCurrent(c) == 0\n"
                  "p = ctypes.c_uint64(); assert cuda.cuMemAlloc_v2(ctypes.byref(p), ctypes.c_size_t(4711)) == 0\n"
                  "for i in range(200):\n"
                  "    pid = os.fork()\n"
                  "    if pid == 0: os._exit(0)\n"
                  "    assert os.waitpid(pid, 0) == (pid, 0)\n")
        result = self.run_preloaded([sys.executable, "-c", script])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual([live_sizes(e) for e in self.by_process().values()], [[4711]])


def add(program, mode):
    def test(self):
        self.check(program, mode)
    setattr(Processes, f"test_{program}_{mode}".replace("-", "_"), test)


for each_mode in MODES:
    add("fork_exec", each_mode)
    add("fork_exec_static", each_mode)


class Kills(Case):
    """SIGKILL of the job, of the collector, of both, at random moments: no committed event is lost."""

    def start(self, pairs=10 ** 9):
        environment = preloaded_environment(self.trace)
        return subprocess.Popen([PROGRAMS / "churn", "--threads", "2", "--pairs", str(pairs), "--live", "50", "--pause", "200"],
                                env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.directory)

    def collector_of(self, job):
        def find():
            for entry in pathlib.Path("/proc").glob("[0-9]*"):
                try:
                    command = (entry / "cmdline").read_bytes().split(b"\0")
                except OSError:
                    continue
                if command[0].endswith(b"vramtrace-collect") and str(self.trace).encode() in command:
                    return int(entry.name)
            return None
        return wait_for(find, what="a collector")

    def check_whole(self):
        """Tickets without gaps, every free of something allocated before, at most the live ring's worth alive."""
        summary = report(self.trace)
        events = [e for e in dump(self.trace) if "ticket" in e]
        self.assertGreater(len(events), 100)
        tickets = [e["ticket"] for e in events]
        gaps = (tickets[-1] - tickets[0] + 1) - len(tickets)
        lost = summary["processes"][0]["recording"]["lost_events"]
        self.assertEqual(tickets, sorted(set(tickets)), "tickets repeat or run backwards")
        self.assertLessEqual(gaps, lost, "events are missing that no counter tells of")
        live = set()
        for event in events:
            if event["kind"] == "DeviceAlloc":
                self.assertNotIn(event["address"], live)
                live.add(event["address"])
            elif event["kind"] == "DeviceFree":
                self.assertIn(event["address"], live)
                live.remove(event["address"])
        return events

    def test_kill_the_job(self):
        for round_number in range(5):
            with self.subTest():
                job = self.start()
                time.sleep(random.uniform(0.2, 0.8))
                job.kill()
                job.wait()
                wait_for(lambda: drained(self.trace), what="draining")
                self.check_whole()
                self.trace = self.directory / f"trace-{round_number}"

    def test_kill_the_collector(self):
        """The job goes on, starts another collector, and nothing is missing."""
        job = self.start()
        for _ in range(3):
            collector = self.collector_of(job)
            time.sleep(random.uniform(0.1, 0.5))
            os.kill(collector, signal.SIGKILL)
            time.sleep(0.2)
        time.sleep(6)  # a new one is started when the heartbeat is five seconds old
        self.collector_of(job)
        job.kill()
        job.wait()
        wait_for(lambda: drained(self.trace), what="draining")
        self.check_whole()

    def test_kill_both(self):
        """As when a container is killed: the report reads container and rings."""
        for round_number in range(5):
            job = self.start()
            collector = self.collector_of(job)
            time.sleep(random.uniform(0.1, 0.6))
            for pid in random.sample([job.pid, collector], 2):
                os.kill(pid, signal.SIGKILL)
            job.wait()
            self.check_whole()
            self.trace = self.directory / f"trace-{round_number}"

    def test_job_is_pid_1(self):
        """First process of its own PID namespace: collector and job die together, the rings tell."""
        if os.geteuid() != 0:
            self.skipTest("a PID namespace needs root")
        command = ["unshare", "--pid", "--fork", "--kill-child", PROGRAMS / "churn", "--threads", "1", "--pairs", "20000",
                   "--live", "50"]
        result = subprocess.run(command, env=preloaded_environment(self.trace), capture_output=True, text=True, timeout=60)
        if result.returncode != 0 and "unshare" in result.stderr:
            self.skipTest(result.stderr)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.check_whole()


class Running(Case):
    def test_report_of_a_running_job(self):
        job = subprocess.Popen([PROGRAMS / "churn", "--pairs", "1000000000", "--live", "50", "--pause", "200"],
                               env=preloaded_environment(self.trace), stdout=subprocess.DEVNULL, cwd=self.directory)
        try:
            wait_for(lambda: list(self.trace.glob("*.trace")), what="a container")
            time.sleep(0.5)
            first = report(self.trace)["processes"][0]
            time.sleep(0.5)
            second = report(self.trace)["processes"][0]
            self.assertEqual(first["end"]["how"], "running")
            self.assertGreater(second["recording"]["events"], first["recording"]["events"])
        finally:
            job.kill()
            job.wait()


if __name__ == "__main__":
    unittest.main()
