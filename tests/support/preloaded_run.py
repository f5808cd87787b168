# SPDX-License-Identifier: Apache-2.0
"""Runs programs under the preload, on the simulated CUDA, and reads back what was recorded.

The build folder comes from VRAMTRACE_BUILD (ctest sets it). Standard library only.
"""
import atexit
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

BUILD = pathlib.Path(os.environ.get("VRAMTRACE_BUILD", "build")).resolve()
SHIM = BUILD / "shim" / "libvramtrace.so"
COLLECTOR = BUILD / "shim" / "vramtrace-collect"
VRAMTRACE = BUILD / "bin" / "vramtrace"
SIMULATOR = BUILD / "simulator"
PROGRAMS = BUILD / "tests" / "programs"

# Names that these programs' builds had earlier are no part of a test, and a test is none of the user's cache.
os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="vramtrace-test-cache-")
atexit.register(shutil.rmtree, os.environ["XDG_CACHE_HOME"], ignore_errors=True)


def simulated_environment(**extra):
    """The environment of a program that finds the simulated CUDA; no vramtrace in it."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("VRAMTRACE_") and k != "LD_PRELOAD"}
    environment["LD_LIBRARY_PATH"] = str(SIMULATOR)
    environment.update({k: str(v) for k, v in extra.items()})
    return environment


def preloaded_environment(directory, **extra):
    """The same with a bare preload that records into `directory`."""
    environment = simulated_environment(**extra)
    environment["LD_PRELOAD"] = " ".join(filter(None, [str(SHIM), extra.get("LD_PRELOAD", "")]))
    environment["VRAMTRACE_DIR"] = str(directory)
    return environment


def dump(trace):
    """All events of all processes of a trace, as `vramtrace dump --json` gives them, one dictionary each."""
    result = subprocess.run([VRAMTRACE, "dump", "--json", str(trace)], capture_output=True, text=True, timeout=120)
    if result.returncode != 0:
        raise AssertionError(f"dump failed ({result.returncode}): {result.stderr}")
    return [json.loads(line) for line in result.stdout.splitlines() if line]


def report(trace, *options):
    """`vramtrace report --json` as a dictionary."""
    result = subprocess.run([VRAMTRACE, "report", "--json", *options, str(trace)], capture_output=True, text=True,
                            timeout=300)
    if result.returncode != 0:
        raise AssertionError(f"report failed ({result.returncode}): {result.stderr}")
    return json.loads(result.stdout)


def wait_for(condition, seconds=20.0, what="the condition"):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"{what} did not come true within {seconds} s")


def drained(directory):
    """True once every ring of the directory was written to its container and removed."""
    directory = pathlib.Path(directory)
    return not list(directory.glob("*.ring*")) and not list(directory.glob("*.defs"))


class Case(unittest.TestCase):
    """A test with a folder of its own, removed at the end when the test passed."""

    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="vramtrace-test-"))
        self.trace = self.directory / "trace"
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)

    def run_preloaded(self, command, timeout=60, drain=True, **extra):
        """Runs `command` with a bare LD_PRELOAD and waits for its collector. Returns the CompletedProcess."""
        result = subprocess.run([str(c) for c in command], env=preloaded_environment(self.trace, **extra),
                                capture_output=True, text=True, errors="replace", timeout=timeout, cwd=self.directory)
        if drain and self.trace.exists():
            wait_for(lambda: drained(self.trace), what="draining of the rings")
        return result

    def run_native(self, command, timeout=60, **extra):
        return subprocess.run([str(c) for c in command], env=simulated_environment(**extra), capture_output=True,
                              text=True, errors="replace", timeout=timeout, cwd=self.directory)


__all__ = ["BUILD", "SHIM", "COLLECTOR", "VRAMTRACE", "SIMULATOR", "PROGRAMS", "Case", "dump", "report", "drained",
           "wait_for", "simulated_environment", "preloaded_environment", "signal"]
