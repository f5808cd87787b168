# SPDX-License-Identifier: Apache-2.0
"""pytest: a test is a region, and `vramtrace check` judges it.

    @pytest.mark.vramtrace(leak="0 B", peak="2 GiB", growth="0 B")
    def test_training_step(): ...

    vramtrace run -- pytest

The region is the test's call without its fixtures. It is judged once the test and its fixtures are torn down, so that what a
fixture holds for the test is no leak of it. A test that failed or was skipped is not judged: its own result says more.
Without vramtrace a marked test fails, since nobody looked; --vramtrace-optional lets it pass.
"""
import gc
import hashlib
import os
import subprocess

import pytest
from _pytest.runner import runtestprotocol

import vramtrace

_OPTIONS = {"leak": "--leaked-bytes", "leaked_allocations": "--leaked-allocations",
            "leak_per_site": "--leaked-bytes-per-site", "growth": "--growth", "peak": "--peak",
            "fragmentation": "--fragmentation", "failed_allocations": "--failed-allocations", "handles": "--handles"}
_LONGEST_NAME = 200  # bytes; the trace cuts at 255
_passings = {}


def pytest_addoption(parser):
    parser.getgroup("vramtrace").addoption("--vramtrace-optional", action="store_true",
                                           help="tests marked vramtrace pass unjudged if vramtrace is not preloaded")


def pytest_configure(config):
    config.addinivalue_line("markers", "vramtrace(leak=, peak=, growth=, …): the test's GPU memory is judged by "
                                       "`vramtrace check` against these limits")


def pytest_collection_modifyitems(items):
    for item in items:
        marker = item.get_closest_marker("vramtrace")
        if marker is None:
            continue
        unknown = sorted(set(marker.kwargs) - set(_OPTIONS))
        if marker.args or unknown:
            # A limit that is misspelt would never fail.
            raise pytest.UsageError(f"{item.nodeid}: vramtrace marker: {', '.join(unknown) or 'a limit without a name'} "
                                    f"not known; known are {', '.join(_OPTIONS)}")


def _region_name(nodeid):
    """"./" keeps tests of different folders apart: a phase is found by the end of its path, name by name."""
    name = "./" + nodeid
    encoded = name.encode("utf-8", "replace")
    if len(encoded) > _LONGEST_NAME:
        name = encoded[:_LONGEST_NAME].decode("utf-8", "ignore") + "…" + hashlib.sha256(encoded).hexdigest()[:16]
    # The same test again in this process (repeated, rerun) is another phase.
    passing = _passings[name] = _passings.get(name, 0) + 1
    return name if passing == 1 else f"{name} (passing {passing})"


def _pattern(name):
    return "".join("\\" + c if c in "*?[]\\" else c for c in name)


def _judge(name, marker):
    """Nothing if the test kept its limits, else the text that says why not."""
    directory = vramtrace.trace_directory()
    if directory is None:
        return "no GPU memory was allocated: cannot judge"
    command = vramtrace._program()
    if command is None:
        return "the program vramtrace was not found: cannot judge (vramtrace.program names it)"
    command = [command, "check", "--phase", _pattern(name), "--pid", str(os.getpid()), "--running", "--survivors"]
    for key, value in marker.kwargs.items():
        command += [_OPTIONS[key], str(value)]
    environment = {k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD", "NVTX_INJECTION64_PATH")}
    try:
        done = subprocess.run([*command, directory], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=600)
    except (OSError, subprocess.SubprocessError) as error:
        return f"cannot judge: {error}"
    if done.returncode == 0:
        return None
    text = (done.stdout + done.stderr).decode("utf-8", "replace").strip()
    return text or f"cannot judge: vramtrace check gave {done.returncode}"


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_call(item):
    name = getattr(item, "_vramtrace_region", None)
    if name is None:
        yield
        return
    with vramtrace.region(name):
        yield


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    marker = item.get_closest_marker("vramtrace")
    if marker is None:
        return None
    item._vramtrace_region = _region_name(item.nodeid)
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    # Reports are kept back until the test was judged, so that it fails itself and not its teardown.
    reports = runtestprotocol(item, log=False, nextitem=nextitem)
    call = next((report for report in reports if report.when == "call"), None)
    if call is not None and call.passed and not hasattr(call, "wasxfail"):
        if vramtrace.is_preloaded():
            gc.collect()
            why = _judge(item._vramtrace_region, marker)
        else:
            why = None if item.config.getoption("vramtrace_optional") else "vramtrace is not preloaded: cannot judge"
        if why is not None:
            call.outcome, call.longrepr = "failed", f"vramtrace: {item.nodeid}\n{why}"
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True
