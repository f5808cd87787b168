# SPDX-License-Identifier: Apache-2.0
"""Verifies vramtrace on a real GPU and prints one table. Needs nvcc; PyTorch, CuPy, JAX and compute-sanitizer are used where
they are installed, and a row says so where they are not.

    python3 tests/gpu/verify.py --build build [--only PART] [--json FILE]

Parts: programs, leaks, sanitizer, cublas, cupy, jax, torch, cost. Exit code 0: every row that could be run is right.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--build", default="build", help="build folder with bin/vramtrace and shim/libvramtrace.so")
parser.add_argument("--only", action="append", help="run only this part (may be repeated)")
parser.add_argument("--json", help="write the rows to this file too")
parser.add_argument("--keep", help="folder for the traces (default: a temporary one, removed)")
arguments = parser.parse_args()
BUILD = pathlib.Path(arguments.build).resolve()
VRAMTRACE = BUILD / "bin" / "vramtrace"
WORK = pathlib.Path(arguments.keep or tempfile.mkdtemp(prefix="vramtrace-gpu-")).resolve()
PROGRAMS = WORK / "programs"
PROGRAMS.mkdir(parents=True, exist_ok=True)
rows = []


def row(part, what, expected, got, right=None):
    right = expected == got if right is None else right
    rows.append({"part": part, "what": what, "expected": expected, "got": got, "right": right})
    print(f"{'ok ' if right else 'NOT'} {part:10} {what:58} expected {str(expected)[:60]:24} got {str(got)[:300]}", flush=True)


def skipped(part, why):
    rows.append({"part": part, "what": why, "expected": None, "got": None, "right": None})
    print(f"--  {part:10} {why}", flush=True)


def run(command, timeout=280, **environment):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, errors="replace", timeout=timeout,
                          env={**os.environ, **environment}, cwd=WORK)


def traced(name, command, timeout=280, **environment):
    """Runs a command under `vramtrace run`; (its result, the report of its biggest process)."""
    directory = WORK / name
    shutil.rmtree(directory, ignore_errors=True)
    result = run([VRAMTRACE, "run", "--no-symbol-cache", "-o", directory, "--", *command], timeout, **environment)
    made = run([VRAMTRACE, "report", "--json", "--no-symbol-cache", "--by", "function", "-n", "100000", directory])
    if made.returncode != 0:
        print(result.stderr[-600:], made.stderr[-600:], file=sys.stderr)
        return result, None
    processes = json.loads(made.stdout)["processes"]
    return result, max(processes, key=lambda p: p["recording"]["events"], default=None)


def events(name, kind=None):
    made = run([VRAMTRACE, "dump", "--json", WORK / name])
    found = [json.loads(line) for line in made.stdout.splitlines() if line]
    return [e for e in found if "kind" in e and (kind is None or e["kind"] == kind)]


def nvcc(source, output, *flags):
    command = ["nvcc", "-O2", "-g", "-std=c++17", "-x", "cu", "-I", ROOT, source, "-o", PROGRAMS / output, "-lcuda", *flags]
    result = run(command)
    if result.returncode != 0:
        row("build", output, "compiles", result.stderr[-300:], False)
    return PROGRAMS / output


def losses(process):
    return sum(process["recording"]["losses"].values())


def has(module):
    return run([sys.executable, "-c", f"import {module}"]).returncode == 0


FLAVOURS = {"static": ["-cudart", "static"], "shared": ["-cudart", "shared"],
            "per_thread": ["-cudart", "static", "--default-stream", "per-thread"]}


def programs():
    for flavour, flags in FLAVOURS.items():
        program = nvcc(ROOT / "tests/programs/nvcc_kernels.cu", f"kernels_{flavour}", *flags)
        native = run([program])
        row("programs", f"{flavour}: the program itself succeeds", 0, native.returncode if native.returncode == 0 else native.stdout)
        result, process = traced(f"kernels_{flavour}", [program])
        row("programs", f"{flavour}: exit code and output as without us", (native.returncode, native.stdout),
            (result.returncode, result.stdout))
        expected = sorted((m[1], int(m[2])) for m in re.finditer(r"^expect (\S+) (\d+)", result.stdout, re.M))
        kinds = {"DeviceAlloc", "ManagedAlloc", "HostAlloc", "HostRegister", "PoolAlloc", "ArrayCreate", "MipmapCreate",
                 "PhysicalCreate", "GraphAlloc"}
        seen = sorted((e["api"], e["size"]) for e in events(f"kernels_{flavour}") if e["kind"] in kinds)
        row("programs", f"{flavour}: each allocation seen exactly once", expected, seen)
        row("programs", f"{flavour}: events lost", 0, losses(process) if process else "no report")


def leaks():
    for flavour in ("static", "shared"):
        program = nvcc(ROOT / "tests/programs/leak_kinds.cpp", f"leak_kinds_{flavour}", *FLAVOURS[flavour])
        result, process = traced(f"leak_kinds_{flavour}", [program])
        row("leaks", f"{flavour}: the program ran", 0, result.returncode, result.returncode == 0)
        if process is None:
            continue
        found = {}
        for table in ("leaks", "address_space", "open_handles"):
            for entry in process[table]["rows"]:
                found.setdefault(entry["title"].split("(")[0], []).append(entry["bytes"])
        for match in re.finditer(r"^leak (\S+) (\S+) (\d+)$", result.stdout, re.M):
            function, api, size = match[1], match[2], int(match[3])
            if function in ("leak_device_malloc",):
                row("leaks", f"{flavour}: {function} (a stated limit)", "not seen", found.get(function, "not seen"))
                continue
            if function == "leak_device_array":  # __device__ arrays of the program itself: loaded by the runtime, which keeps them
                row("leaks", f"{flavour}: {function}: kept by the runtime, no leak", "not listed", found.get(function, "not listed"))
                continue
            if function == "leak_module":  # nobody says how many bytes a module takes
                row("leaks", f"{flavour}: {function}: listed, bytes unknown (a stated limit)", [0], found.get(function, "not listed"))
                continue
            row("leaks", f"{flavour}: {function} by {api}", size, found.get(function, "not listed"),
                size in found.get(function, []) or sum(found.get(function, [-1])) == size)


def sanitizer():
    if shutil.which("compute-sanitizer") is None:
        return skipped("sanitizer", "no compute-sanitizer here")
    program = nvcc(ROOT / "tests/programs/leak_kinds.cpp", "leak_kinds_sanitizer", "-cudart", "static")
    result = run(["compute-sanitizer", "--tool", "memcheck", "--leak-check", "full", program])
    sizes = [int(s.replace(",", "")) for s in re.findall(r"Leaked ([\d,]+) bytes", result.stdout)]
    ran, process = traced("sanitizer_pair", [program])
    ours = [r["bytes"] for r in process["leaks"]["rows"]]
    announced = {m[1]: int(m[2]) for m in re.finditer(r"^leak (\S+) \S+ (\d+)$", ran.stdout, re.M)}
    left = [s for s in sizes if s not in ours]
    # What it lists and we do not, with the same bytes, must be one of these:
    elements = [size // 4 for name, size in announced.items() if "array" in name or "mipmap" in name]
    borrowed = [r["largest_bytes"] for r in process["open_handles"]["rows"] if "IPC" in r["kind"]]
    levels = [s for s in left if any(s < e and e % s != 1 for e in elements)]
    for size in left:
        why = ("device-side malloc: a stated limit" if size == announced.get("leak_device_malloc") else
               "an array: it counts elements of 4 bytes" if size in elements else
               "another process's memory: we list the opening, 0 bytes" if len(borrowed) and size not in levels else
               "a level of a mipmapped array: it counts elements" if size in levels else "?")
        row("sanitizer", f"it lists {size} bytes", "explained", why, why != "?")
    row("sanitizer", "leaks with bytes: theirs / ours", "", (len(sizes), len(ours)), True)


def cublas():
    result, process = traced("cublas", [sys.executable, HERE / "cublas_workspace.py"])
    if result.returncode != 0 or process is None:
        return skipped("cublas", "no cuBLAS to load: " + result.stderr[-200:])
    inside = [e for e in events("cublas", "DeviceAlloc")]
    row("cublas", "cuBLAS's own allocations (bytes each)", "several, its workspace among them", [e["size"] for e in inside],
        len(inside) >= 2)
    text = run([VRAMTRACE, "report", "--full", "--no-symbol-cache", WORK / "cublas"]).stdout
    row("cublas", "the report names libcublas", True, "libcublas" in text)


def cupy():
    if not has("cupy"):
        return skipped("cupy", "no CuPy here")
    result, process = traced("cupy", [sys.executable, HERE / "cupy_arrays.py"])
    row("cupy", "100 arrays of 8,000 bytes", 100, len([e for e in events("cupy", "DeviceAlloc") if e["size"] == 8000]))


def jax():
    if not has("jax"):
        return skipped("jax", "no JAX here")
    native = run([sys.executable, HERE / "jax_smoke.py"])
    result, process = traced("jax", [sys.executable, HERE / "jax_smoke.py"])
    row("jax", "same output", native.stdout, result.stdout)
    row("jax", "memory seen (cuMemCreate or cuMemAlloc events)", "> 0",
        len(events("jax", "PhysicalCreate")) + len(events("jax", "DeviceAlloc")), process is not None)
    result, process = traced("jax_async", [sys.executable, HERE / "jax_smoke.py"], XLA_PYTHON_CLIENT_ALLOCATOR="cuda_async")
    row("jax", "cuda_async: stream-ordered allocations", "> 0", len(events("jax_async", "PoolAlloc")),
        len(events("jax_async", "PoolAlloc")) > 0)


def torch():
    if not has("torch") or not has("torchvision"):
        return skipped("torch", "no PyTorch with torchvision here")
    script = [sys.executable, HERE / "resnet50_training.py", "60"]
    for mode, settings in {"plain": {}, "expandable": {"PYTORCH_ALLOC_CONF": "expandable_segments:True",
                                                       "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}}.items():
        native = json.loads(run(script, **settings).stdout.splitlines()[-1])
        result, process = traced(f"torch_{mode}", script, **settings)
        under = json.loads(result.stdout.splitlines()[-1])
        row("torch", f"{mode}: same losses, 60 steps", native["losses"], under["losses"])
        row("torch", f"{mode}: median step, ms (native → ours)", "about equal",
            f"{native['median_step_ms']:.1f} → {under['median_step_ms']:.1f}", True)
        row("torch", f"{mode}: events lost", 0, losses(process) if process else "no report")
        all_events = events(f"torch_{mode}")
        if mode == "plain":
            segments = [e for e in all_events if e["kind"] == "DeviceAlloc" and e.get("label") == "cudaMalloc"]
            in_torch = segments_of_torch(f"torch_{mode}", segments)
            row("torch", "cudaMalloc events = segment.all.allocated", under["segments_allocated"], in_torch)
        else:
            created = sum(e["size"] for e in all_events if e["kind"] == "PhysicalCreate")
            row("torch", "expandable: bytes of cuMemCreate ≥ reserved peak", under["reserved_peak"], created,
                created >= under["reserved_peak"] > 0)


def segments_of_torch(name, segments):
    """cudaMalloc calls made by the shared runtime that libc10_cuda calls: those whose stack names it."""
    return len([e for e in segments if any("libc10_cuda" in f.get("module", "") for f in e.get("frames", []))]) \
        if any(e.get("frames") for e in segments) else len(segments)


def cost():
    program = nvcc(HERE / "pair_cost.cu", "pair_cost", "-cudart", "shared")
    depth, rounds, pairs = "30", "100", "200"
    environment = {"LD_PRELOAD": str(BUILD / "shim" / "libvramtrace.so"), "VRAMTRACE_DIR": str(WORK / "cost")}
    ways = {"native": ([program], {}), "ours": ([program], environment)}
    if shutil.which("compute-sanitizer"):
        ways["sanitizer"] = (["compute-sanitizer", "--leak-check", "full", program], {})
        ways["sanitizer, kernel instrumentation off"] = (
            ["compute-sanitizer", "--leak-check", "full", "--kernel-regex-exclude", "kns=.*", program], {})
    measured = {way: {} for way in ways}
    for turn in range(5):
        for way, (command, extra) in ways.items():  # in turn: times vary from process to process
            if way.startswith("sanitizer") and turn >= 2:
                continue
            few = ["20", "100"] if way.startswith("sanitizer") else [rounds, pairs]
            result = run([*command, *few, depth], **extra)
            for name, value in re.findall(r"^(\w+_\w+) (\d+) \d+$", result.stdout, re.M):
                measured[way].setdefault(name, []).append(int(value))
    for name in ("malloc_free", "mallocasync_freeasync"):
        native = statistics.median(measured["native"][name])
        for way, values in measured.items():
            if values.get(name):
                value = statistics.median(values[name])
                row("cost", f"{name} pair, {way}", "a figure",
                    f"{value:.0f} ns (+{value - native:.0f} ns, ×{value / native:.2f}) of {sorted(values[name])}", True)


PARTS = [programs, leaks, sanitizer, cublas, cupy, jax, torch, cost]
for part in PARTS:
    if arguments.only and part.__name__ not in arguments.only:
        continue
    try:
        part()
    except Exception as error:  # one part's failure must not hide the others
        row(part.__name__, "this part could be run", True, f"{type(error).__name__}: {error}", False)
wrong = [r for r in rows if r["right"] is False]
print(f"\n{len([r for r in rows if r['right']])} right, {len(wrong)} not, {len([r for r in rows if r['right'] is None])} skipped")
if arguments.json:
    pathlib.Path(arguments.json).write_text(json.dumps(rows, indent=1))
if not arguments.keep:
    shutil.rmtree(WORK, ignore_errors=True)
sys.exit(1 if wrong else 0)
