# SPDX-License-Identifier: Apache-2.0
"""What a row of the table of cases is, and how one is run and compared. Standard library only."""
import dataclasses
import os
import pathlib
import subprocess
import tempfile
import time
import typing

from preloaded_run import BUILD, SIMULATOR, drained, preloaded_environment, report, wait_for

CASES = BUILD / "tests" / "cases"
MIB = 1 << 20
GIB = 1 << 30


@dataclasses.dataclass
class Row:
    """One run of one program. `leaks`, `addresses` and `handles` are complete: what is not named must not be there."""
    case: str  # "C10"
    what: str  # said in the printed table
    command: tuple  # program and arguments
    # (function in the stack or None, kind, bytes, pieces); None in place of the list: not compared.
    leaks: typing.Optional[list] = dataclasses.field(default_factory=list)
    addresses: int = 0  # bytes of reservations left
    borrowed: dict = dataclasses.field(default_factory=dict)  # handle kind -> (left, borrowed bytes)
    made: dict = dataclasses.field(default_factory=dict)  # handle kind -> (made, left); only these are compared
    peak: dict = dataclasses.field(default_factory=dict)  # quantity -> bytes, on device 0 or the host
    allocated: dict = dataclasses.field(default_factory=dict)  # quantity -> (bytes, pieces)
    failures: tuple = (0, 0)  # refused allocations, of which recovered
    refused: list = dataclasses.field(default_factory=list)  # (function in the stack, API, code, count) of releases
    expected_verdict: dict = dataclasses.field(default_factory=dict)  # function -> class; None: no finding about it
    exit_code: int = 0
    settings: dict = dataclasses.field(default_factory=dict)
    role: str = ""  # of several processes: the one that said "process ROLE PID"
    extra: typing.Callable = None  # (outcome) -> None, asserts more


class Outcome:
    """What a row's run left: the program's words and the report."""

    def __init__(self, row):
        self.row = row
        with tempfile.TemporaryDirectory(prefix="vramtrace-case-", ignore_cleanup_errors=True) as directory:
            trace = pathlib.Path(directory) / "trace"
            environment = preloaded_environment(trace, **{"VRAMTRACE_SIM_MEMORY": "80G", **row.settings})
            environment["LD_LIBRARY_PATH"] = os.pathsep.join([str(SIMULATOR), str(CASES)])
            begin = time.monotonic()
            result = subprocess.run([str(CASES / row.command[0]), *row.command[1:]], env=environment,
                                    capture_output=True, text=True, timeout=60, cwd=directory)
            self.seconds = time.monotonic() - begin
            self.exit_code, self.output, self.errors = result.returncode, result.stdout, result.stderr
            wait_for(lambda: drained(trace), what="draining of the rings")
            self.report = report(trace)
        self.process = self.report["processes"][0]
        for line in self.output.splitlines():
            if row.role and line.startswith(f"process {row.role} "):
                self.process = next(p for p in self.report["processes"] if p["pid"] == int(line.split()[2]))

    def total(self, quantity, device=0):
        rows = [row for row in self.process["totals"]
                if row["quantity"] == quantity and row["device"] in (device, None)]
        return rows[0] if rows else {"peak": {"bytes": 0}, "allocated": {"bytes": 0, "count": 0}}

    def part(self, name, when="use_at_end", device=0):
        for part in self.process["devices"][device][when]["parts"]:
            if part["part"] == name:
                return part["bytes"]
        return None


def functions(row):
    return [frame["function"].split("(")[0] for frame in row["stack"]]


def compare(outcome):
    """Differences between a row and its outcome, as sentences; empty if all is right."""
    row, process, wrong = outcome.row, outcome.process, []

    def must_be(what, seen, expected):
        if seen != expected:
            wrong.append(f"{what}: {seen}, not {expected}")

    must_be("exit code", outcome.exit_code, row.exit_code)
    if "FAIL" in outcome.output:
        wrong.append(outcome.output)
    must_be("lost events", process["recording"]["lost_events"], 0)

    if row.leaks is not None:
        rows = list(process["leaks"]["rows"])
        for function, kind, size, count in row.leaks:
            found = [leak for leak in rows if leak["kind"] == kind and function in (None, *functions(leak))]
            must_be(f"left from {function}", [(leak["bytes"], leak["count"]) for leak in found], [(size, count)])
            rows = [leak for leak in rows if leak not in found]
        must_be("other leaks", [(leak["title"], leak["bytes"]) for leak in rows], [])
        must_be("sum of leaks", process["leak_summary"]["bytes"], sum(leak[2] for leak in row.leaks))
    must_be("addresses left", process["address_space"]["total"]["bytes"], row.addresses)

    handles = {handle["kind"]: handle for handle in process["handle_counts"]}
    must_be("borrowed", {kind: (handle["left"], handle["borrowed_bytes"]) for kind, handle in handles.items()
                         if handle["borrowed_bytes"]}, row.borrowed)
    for kind, expected in row.made.items():
        must_be(kind, (handles[kind]["made"], handles[kind]["left"]) if kind in handles else (0, 0), expected)
    for quantity, size in row.peak.items():
        must_be(f"peak of {quantity}", outcome.total(quantity)["peak"]["bytes"], size)
    for quantity, expected in row.allocated.items():
        made = outcome.total(quantity)["allocated"]
        must_be(f"allocated, {quantity}", (made["bytes"], made["count"]), expected)
    must_be("failures", (process["failures"]["total"], process["failures"]["recovered"]), row.failures)
    refused = process["failures"]["refused_releases"]["rows"]
    must_be("refused releases", sorted((r["api"], r["result"], r["count"]) for r in refused),
            sorted(expected[1:] for expected in row.refused))
    for function, api, code, _ in row.refused:
        if not any(function in functions(r) for r in refused if (r["api"], r["result"]) == (api, code)):
            wrong.append(f"no refused {api} from {function}")
    if "findings" in process:
        wrong += compare_verdicts(row, process["findings"])
    if row.extra:
        try:
            row.extra(outcome)
        except AssertionError as error:
            wrong.append(str(error) or "an assertion of its own")
    return wrong


def compare_verdicts(row, findings):
    wrong = []
    for function, expected in row.expected_verdict.items():
        seen = [finding["class"] for finding in findings if function in finding["title"]]
        if seen != ([expected] if expected else []):
            wrong.append(f"verdict on {function}: {seen}, not {expected}")
    return wrong
