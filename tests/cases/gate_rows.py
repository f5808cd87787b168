# SPDX-License-Identifier: Apache-2.0
"""Cases about gates, losses and programs that must not notice us: commands and their exit codes. Standard library only."""
import dataclasses
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from case_row import CASES
from preloaded_run import SIMULATOR, VRAMTRACE, drained, preloaded_environment, simulated_environment, wait_for

CLEAN, LEAK, CANNOT_JUDGE, NOT_STARTED = 0, 23, 24, 125


@dataclasses.dataclass
class GateRow:
    case: str
    what: str
    command: str  # of a shell, in a folder of its own; $VRAMTRACE, $CASES and what `prepare` makes
    exit_code: int
    says: str = ""  # somewhere in its output

    def run(self):
        with tempfile.TemporaryDirectory(prefix="vramtrace-gate-", ignore_cleanup_errors=True) as directory:
            environment = simulated_environment(VRAMTRACE=VRAMTRACE, CASES=CASES, PYTHON=sys.executable)
            environment["LD_LIBRARY_PATH"] = os.pathsep.join([str(SIMULATOR), str(CASES)])
            result = subprocess.run(["bash", "-c", self.command], env=environment, cwd=directory, capture_output=True,
                                    text=True, timeout=120)
            return result.returncode, result.stdout + result.stderr


class Lossy(GateRow):
    """Events are lost: nobody drains the rings, and they hold little."""

    def run(self):
        with tempfile.TemporaryDirectory(prefix="vramtrace-gate-", ignore_cleanup_errors=True) as directory:
            trace = pathlib.Path(directory) / "trace"
            environment = preloaded_environment(trace, VRAMTRACE_COLLECTOR="0", VRAMTRACE_BUFFER_LIMIT="1M")
            subprocess.run([CASES / "c37_lost_records", "pairs"], env=environment, check=True, timeout=120,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            result = subprocess.run([VRAMTRACE, *self.command.split(), str(trace)], capture_output=True, text=True,
                                    timeout=120)
            return result.returncode, result.stdout + result.stderr


class Deleted(GateRow):
    """The program is gone before its trace is read."""

    def run(self):
        with tempfile.TemporaryDirectory(prefix="vramtrace-gate-", ignore_cleanup_errors=True) as directory:
            trace = pathlib.Path(directory) / "trace"
            program = pathlib.Path(directory) / "program"
            shutil.copy(CASES / "c39_three_leaks", program)
            subprocess.run([program], env=preloaded_environment(trace), check=True, timeout=60)
            wait_for(lambda: drained(trace), what="draining of the rings")
            program.unlink()
            result = subprocess.run([VRAMTRACE, *self.command.split(), str(trace)], capture_output=True, text=True,
                                    timeout=120)
            return result.returncode, result.stdout + result.stderr


GATE_ROWS = [
    GateRow("C31", "a shell that does nothing", "$VRAMTRACE run -o trace -- sh -c true", CLEAN),
    GateRow("C31", "Python without CUDA", "$VRAMTRACE run -o trace -- $PYTHON -c 'print(6*7)'", CLEAN, "42"),
    Lossy("C37", "lost records: told, and never a clean pass", "check", LEAK, "lost"),
    Deleted("C39", "the program was deleted: still three leaks", "check", LEAK, "30.0 MiB"),
    GateRow("C41", "the shim is missing", "cp $VRAMTRACE . && ./vramtrace run -o trace --check -- $CASES/c39_three_leaks",
            NOT_STARTED),
    GateRow("C41", "the folder cannot be written", "$VRAMTRACE run -o /proc/none --check -- $CASES/c39_three_leaks",
            NOT_STARTED),
    GateRow("C41", "output through a pipe keeps the code",
            "set -o pipefail; $VRAMTRACE run -o trace --check -- $CASES/c39_three_leaks | cat", LEAK),
    GateRow("C41", "no CUDA call: cannot judge", "$VRAMTRACE run -o trace --check -- true", CANNOT_JUDGE),
    GateRow("C43", "the gate on small leaks", "$VRAMTRACE run -o trace --check -- $CASES/c43_small_leaks leaking", LEAK,
            "test_runtime_767"),
    GateRow("C43", "… with one of them suppressed, and listed as used",
            "echo leak:test_pinned_4 > supp; $VRAMTRACE run -o trace --check --suppressions supp -- "
            "$CASES/c43_small_leaks leaking", LEAK, "test_pinned_4"),
    GateRow("C43", "control: clean", "$VRAMTRACE run -o trace --check -- $CASES/c43_small_leaks control", CLEAN),
    GateRow("C45", "a peak of 256 MiB passes, 2 % more does not",
            "$VRAMTRACE run -o trace --check --peak '259 MiB' -- $CASES/c45_peaks 1 && "
            "$VRAMTRACE run -o larger --check --peak '259 MiB' -- $CASES/c45_peaks larger 1", LEAK, "FAILED  peak"),
]
