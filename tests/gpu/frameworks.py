# SPDX-License-Identifier: Apache-2.0
"""Phases, other allocators, JAX and CuPy on a real GPU under vramtrace; prints one table.

    python3 tests/gpu/frameworks.py --build build [--only phases|allocators|jax|cupy|cases] [--json FILE]

phases:     torch.cuda.nvtx ranges and the Python module's regions, against torch.cuda's own numbers.
allocators: PyTorch without its caching allocator: the tensor level comes from driver calls, and the report says so.
jax, cupy:  what is seen with and without --framework-detail, and that arenas are labelled.
cases:      the scripts of tests/cases/gpu, each with its first finding.
Exit code 0: every row that could be run is right.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--build", default="build")
parser.add_argument("--only", action="append")
parser.add_argument("--json")
parser.add_argument("--keep")
arguments = parser.parse_args()
BUILD = pathlib.Path(arguments.build).resolve()
WORK = pathlib.Path(arguments.keep or tempfile.mkdtemp(prefix="vramtrace-frameworks-")).resolve()
WORK.mkdir(parents=True, exist_ok=True)
MODULE = HERE.parents[1] / "shim" / "api" / "python"
rows = []


def row(part, what, expected, got, right=None):
    right = expected == got if right is None else right
    rows.append({"part": part, "what": what, "expected": expected, "got": got, "right": right})
    print(f"{'ok ' if right else 'NOT'} {part:10} {what:60} expected {str(expected)[:60]:24} got {str(got)[:260]}", flush=True)


def skipped(part, why):
    rows.append({"part": part, "what": why, "expected": None, "got": None, "right": None})
    print(f"--  {part:10} {why}", flush=True)


def recorded(name, script, *arguments_of_it, options=(), **environment):
    """Runs a script under `vramtrace run`: (its stdout, stderr, the report of its biggest process, the trace)."""
    trace = WORK / name
    shutil.rmtree(trace, ignore_errors=True)
    if "\n" in str(script):
        text, script = script, WORK / f"{name}.py"
        script.write_text(text)
    done = subprocess.run([BUILD / "bin" / "vramtrace", "run", "--no-symbol-cache", *options, "-o", trace, "--", sys.executable, script, *arguments_of_it],
                          env={**os.environ, "PYTHONPATH": str(MODULE), **environment}, capture_output=True, text=True,
                          errors="replace", timeout=280)
    if done.returncode != 0:
        print(done.stderr[-800:], file=sys.stderr)
    return done.stdout, done.stderr, report(trace), trace


def report(trace, *options):
    made = subprocess.run([BUILD / "bin" / "vramtrace", "report", "--json", "--no-symbol-cache", *options, trace], capture_output=True, text=True)
    processes = json.loads(made.stdout)["processes"] if made.returncode == 0 else []
    return max(processes, key=lambda p: p["recording"]["events"], default=None)


def members(part, key):
    """All values of that key anywhere in a document."""
    if isinstance(part, dict):
        for name, value in part.items():
            if name == key:
                yield value
            yield from members(value, key)
    elif isinstance(part, list):
        for value in part:
            yield from members(value, key)


def has(module):
    return subprocess.run([sys.executable, "-c", f"import {module}"], capture_output=True).returncode == 0


PHASES_JOB = """
import json, torch, vramtrace
MIB = 1 << 20
kept = [torch.empty(8 * MIB, dtype=torch.uint8, device="cuda")]
before = torch.cuda.memory_allocated()
torch.cuda.reset_peak_memory_stats()
torch.cuda.nvtx.range_push("outer")
torch.cuda.nvtx.range_push("inner")
big = torch.empty(64 * MIB, dtype=torch.uint8, device="cuda")
del big
kept.append(torch.empty(16 * MIB, dtype=torch.uint8, device="cuda"))
torch.cuda.nvtx.range_pop()
torch.cuda.nvtx.range_pop()
nvtx = {"peak": torch.cuda.max_memory_allocated(), "change": torch.cuda.memory_allocated() - before}
torch.cuda.reset_peak_memory_stats()
before = torch.cuda.memory_allocated()
with vramtrace.region("eval") as region:
    x = torch.empty(32 * MIB, dtype=torch.uint8, device="cuda")
    y = torch.empty(4 * MIB, dtype=torch.uint8, device="cuda")
    del x
peak = torch.cuda.max_memory_allocated()
theirs = {"peak": peak, "change": torch.cuda.memory_allocated() - before}
ours = {"peak": region.peak_bytes, "change": region.change_bytes}
print(json.dumps({"nvtx": nvtx, "region": theirs, "ours": ours, "survivors": region.survivors, "why": region.why}))
"""


def phases():
    stdout, _, process, trace = recorded("phases", PHASES_JOB)
    told = json.loads(stdout.splitlines()[-1])
    found = {p["path"]: p for p in process["phases"]["rows"]}
    row("phases", "NVTX ranges of PyTorch are phases", ["outer", "outer/inner"], sorted(p for p in found if p.startswith("outer")))
    amounts = next((a for a in found.get("outer/inner", {}).get("ranges", [{"amounts": []}])[0]["amounts"] if a["quantity"] == "tensor"), {})
    row("phases", "… with PyTorch's own peak and change", told["nvtx"],
        {"peak": amounts.get("peak_bytes"), "change": amounts.get("live_end_bytes", 0) - amounts.get("live_begin_bytes", 0)})
    row("phases", "a region of the Python module asks the running job", told["region"], told["ours"])
    row("phases", "… and knows its survivors", 1, told["survivors"])
    cut = report(trace, "--phase", "eval")
    row("phases", "--phase eval: tensors made there", 2, sum(t["count"] for t in [cut["tensors"]["left"]["total"], cut["tensors"]["churn"]["total"]]))


ALLOCATOR_JOB = """
import torch
kept = [torch.empty(1 << 20, dtype=torch.uint8, device="cuda") for _ in range(50)]
"""


def allocators():
    for name, setting, call in (("cudaMallocAsync", {"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"}, "cudaMallocAsync"),
                                ("no caching", {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}, "cudaMalloc")):
        _, _, process, _ = recorded(f"allocator-{call}", ALLOCATOR_JOB, **setting)
        row("allocators", f"{name}: the report says where tensors come from", f"comes from {call} calls", process["tensors"]["level"],
            f"comes from {call} calls" in process["tensors"]["level"])
        rows_of_line = [r for r in process["leaks"]["rows"] + process["churn"]["rows"] if r["place"].endswith(".py:3")]
        row("allocators", f"{name}: one allocation a tensor, at its line", 50, sum(r["allocated"]["count"] for r in rows_of_line))


JAX_JOB = """
import jax, jax.numpy as jnp
kept = []
for step in range(20):
    kept.append(jnp.ones((1024, 1024)) * step)
print(len(kept), jax.devices()[0].platform)
"""


def jax():
    if not has("jax"):
        return skipped("jax", "no JAX here")
    stdout, _, process, _ = recorded("jax-plain", JAX_JOB)
    arenas = [r for r in members(process, "opaque_arena") if r]
    row("jax", "as it comes: an arena, labelled", "cannot judge inside", arenas[0] if arenas else stdout,
        bool(arenas) and "cannot judge inside" in str(arenas[0]))
    _, stderr, process, _ = recorded("jax-detail", JAX_JOB, options=("--framework-detail",))
    row("jax", "--framework-detail says what it sets", "XLA_PYTHON_CLIENT_ALLOCATOR", stderr[:300], "XLA_PYTHON_CLIENT_ALLOCATOR" in stderr)
    made = sum(t["allocated"]["count"] for t in process["totals"] if t["quantity"] == "device")
    row("jax", "… and each buffer is an allocation of its own", "20 or more", made, made >= 20)


def cupy():
    if not has("cupy"):
        return skipped("cupy", "no CuPy here")
    line = 1 + next(i for i, text in enumerate((HERE / "cupy_arrays.py").read_text().splitlines()) if "cupy.zeros" in text)
    _, _, process, _ = recorded("cupy", HERE / "cupy_arrays.py")
    made = [r for r in process["leaks"]["rows"] + process["churn"]["rows"] if r["place"] == f"cupy_arrays.py:{line}"]
    row("cupy", "without its pool: one allocation an array, at its line", 100, sum(r["allocated"]["count"] for r in made))


# script, part → class of the first finding (None: nothing that weighs more than a note)
CASES = [("c01_kept_exception", "kept", "delayed-release"), ("c01_kept_exception", "control", None),
         ("c03_retention", "collected", "delayed-release"), ("c03_retention", "appended", "growth"), ("c03_retention", "control", None), ("c04_workspaces", "once", None),
         ("c18_split_segment", "split", None), ("c23_stream_caches", "fresh", None), ("c24_pinned_rounding", "rounded", None)]


def cases():
    for script, part, expected in CASES:
        stdout, _, process, _ = recorded(f"{script}-{part}", HERE.parent / "cases" / "gpu" / f"{script}.py", part)
        if process is None:
            row("cases", f"{script} {part}", expected, "no trace", False)
            continue
        first = next((f for f in process["findings"] if f["weight"] != "note"), None)
        row("cases", f"{script} {part}: first finding that weighs", expected, first["class"] if first else None,
            (first["class"] if first else None) == expected)
        if first:
            print(f"    {first['title'][:200]}")


PARTS = {"phases": phases, "allocators": allocators, "jax": jax, "cupy": cupy, "cases": cases}
for name in arguments.only or PARTS:
    try:
        PARTS[name]()
    except Exception as error:  # one part's trouble does not hide the others' rows
        row(name, "the part ran to its end", "yes", repr(error), False)
wrong = [r for r in rows if r["right"] is False]
print(f"{sum(r['right'] is True for r in rows)} right, {len(wrong)} not")
if arguments.json:
    pathlib.Path(arguments.json).write_text(json.dumps(rows, indent=1, default=str))
sys.exit(bool(wrong))
