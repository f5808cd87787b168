# SPDX-License-Identifier: Apache-2.0
"""PyTorch trainings on a real GPU under vramtrace, held against what PyTorch says of itself; prints one table.

    python3 tests/gpu/trainings.py --build build [--only counts|stacks|cost|sites] [--model M] [--json FILE] [--jobs N]

counts: number and bytes of allocations and frees, current and peak allocated and reserved bytes, out-of-memory errors, equal to
        torch.cuda.memory_stats(); the same losses as without us; no trace from workers.
stacks: the Python stack of each allocation, equal to PyTorch's own _record_memory_history for it.
cost:   step time native, recorded, with history "python" and "all", interleaved.
sites:  the report's first lines for a job that keeps its losses, and for one that keeps its graph.
Exit code 0: every row is right.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
from python_trace import PythonTrace  # noqa: E402

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--build", default="build")
parser.add_argument("--only", action="append")
parser.add_argument("--model", action="append")
parser.add_argument("--mode", action="append")
parser.add_argument("--json")
parser.add_argument("--keep")
parser.add_argument("--jobs", type=int, default=4, help="trainings at once where times do not matter")
parser.add_argument("--rounds", type=int, default=3)
arguments = parser.parse_args()
BUILD = pathlib.Path(arguments.build).resolve()
WORK = pathlib.Path(arguments.keep or tempfile.mkdtemp(prefix="vramtrace-trainings-")).resolve()
WORK.mkdir(parents=True, exist_ok=True)
MODELS = arguments.model or ["mlp", "resnet50", "gpt2"]
MODES = arguments.mode or ["plain", "amp", "checkpoint", "expandable", "graph", "workers-fork", "workers-spawn"]
rows = []


def row(part, what, expected, got, right=None):
    right = expected == got if right is None else right
    rows.append({"part": part, "what": what, "expected": expected, "got": got, "right": right})
    print(f"{'ok ' if right else 'NOT'} {part:7} {what:58} expected {str(expected)[:60]:22} got {str(got)[:200]}", flush=True)


def skipped(part, why):
    rows.append({"part": part, "what": why, "expected": None, "got": None, "right": None})
    print(f"--  {part:7} {why}", flush=True)


def train(name, model, mode, *extra, recorded=True, depth=None):
    """Runs one training; (its result, its trace directory or None)."""
    result, trace = WORK / f"{name}.json", WORK / name
    shutil.rmtree(trace, ignore_errors=True)
    environment = {**os.environ, "CUBLAS_WORKSPACE_CONFIG": ":4096:8"}
    if mode == "expandable":
        environment["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
    if depth:
        environment["VRAMTRACE_STACK_DEPTH"] = str(depth)
    command = [sys.executable, HERE / "training.py", model, "plain" if mode == "expandable" else mode, result, *extra]
    if recorded:
        command = [BUILD / "bin" / "vramtrace", "run", "-o", trace, "--no-symbols", "--", *command]
    done = subprocess.run([str(c) for c in command], env=environment, capture_output=True, text=True, errors="replace", timeout=500)
    if done.returncode != 0:
        raise RuntimeError(f"{name}: {done.stderr[-1500:]}")
    return json.loads(result.read_text()), trace if recorded else None


def dumped(trace):
    made = subprocess.run([BUILD / "bin" / "vramtrace", "dump", "--json", trace], capture_output=True, text=True, errors="replace")
    return [json.loads(line) for line in made.stdout.splitlines() if line]


def blocks(trace):
    """What the events say, added up without the analyzer."""
    numbers = dict.fromkeys(("allocated", "freed", "allocated_bytes", "freed_bytes", "current", "peak", "reserved", "reserved_peak", "ooms"), 0)
    for event in trace.events:
        kind = event["kind"]
        if kind == "BlockAlloc":
            numbers["allocated"] += 1
            numbers["allocated_bytes"] += event["size"]
        elif kind == "BlockFree":
            numbers["freed"] += 1
            numbers["freed_bytes"] += event["size"]
        elif kind == "FrameworkOutOfMemory":
            numbers["ooms"] += 1
        else:
            continue
        numbers["current"] = numbers["allocated_bytes"] - numbers["freed_bytes"]
        numbers["peak"] = max(numbers["peak"], numbers["current"])
    return numbers


def reported(trace, *options):
    made = subprocess.run([BUILD / "bin" / "vramtrace", "report", "--json", "--no-symbols", *options, trace], capture_output=True, text=True)
    return json.loads(made.stdout)["processes"]


def memory_table(process):
    """The report's table in the shape of torch.cuda.memory_stats()."""
    table = {}
    for device in process["devices"]:
        for entry in (device.get("tensor_blocks") or {}).get("memory_stats", {}).items():
            table[entry[0]] = entry[1]
    return table


COMPARED = [f"{what}.all.{which}" for what in ("allocation", "allocated_bytes", "reserved_bytes", "segment")
            for which in ("current", "peak", "allocated", "freed")] + ["num_ooms"]


def counts_of(model, mode):
    name = f"counts-{model}-{mode}"
    native, _ = train(f"{name}-native", model, mode, recorded=False)
    ours, directory = train(name, model, mode)
    return model, mode, native, ours, directory


def counts():
    cases = [(model, mode) for model in MODELS for mode in MODES]
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for model, mode, native, ours, directory in pool.map(lambda case: counts_of(*case), cases):
            what = f"{model} {mode}"
            row("counts", f"{what}: losses as without us", native["losses"][-1], ours["losses"][-1], native["losses"] == ours["losses"])
            rows_of_dump = dumped(directory)
            pids = {r["pid"] for r in rows_of_dump if "ticket" in r}
            row("counts", f"{what}: processes with a trace", 1, len(pids))
            events, stats = blocks(PythonTrace(rows_of_dump)), ours["stats"]
            truth = {"allocated": stats["allocation.all.allocated"], "freed": stats["allocation.all.freed"],
                     "allocated_bytes": stats["allocated_bytes.all.allocated"], "freed_bytes": stats["allocated_bytes.all.freed"],
                     "current": stats["allocated_bytes.all.current"], "peak": stats["allocated_bytes.all.peak"],
                     "ooms": stats["num_ooms"]}
            # What is freed after memory_stats() was asked is in the trace only: the interpreter's end.
            at_end = {k: events[k] for k in truth}
            settled = settle(PythonTrace(rows_of_dump), stats["allocation.all.allocated"], stats["allocation.all.freed"])
            row("counts", f"{what}: events add up to memory_stats()", truth, settled or at_end, settled == truth)
            # The report of the instant at which memory_stats() was asked.
            times = [e["time_ns"] for e in rows_of_dump if "ticket" in e]
            asked = [e["time_ns"] for e in rows_of_dump if e.get("kind") == "Mark"][-1]
            process = max(reported(directory, "--at", f"{(asked - times[0]) / 1e9:.6f}"), key=lambda p: p["recording"]["events"])
            table = memory_table(process)
            # How PyTorch counts expandable segments no call tells.
            figures = [k for k in COMPARED if mode != "expandable" or not k.startswith("segment.")]
            wrong = {k: (stats[k], table.get(k)) for k in figures if stats[k] != table.get(k)}
            row("counts", f"{what}: report equals memory_stats() ({len(figures)} figures)", {}, wrong)


def settle(trace, allocated, freed):
    """The sums at the instant when so many allocations and frees had been made."""
    seen, kept = [0, 0], []
    for event in trace.events:
        if event["kind"] in ("BlockAlloc", "BlockFree"):
            which = event["kind"] == "BlockFree"
            if seen[which] == (allocated, freed)[which]:
                continue
            seen[which] += 1
        kept.append(event)
    part = PythonTrace([])
    part.events = kept
    numbers = blocks(part)
    return {k: numbers[k] for k in ("allocated", "freed", "allocated_bytes", "freed_bytes", "current", "peak", "ooms")}


def stacks_of(model, mode):
    """PyTorch's history sometimes ends a training by itself: then once more, and natively to tell whose failure it is."""
    name = f"stacks-{model}-{mode}"
    options = ("--history", "python", "--dump-history", "--steps", "3")
    notes = []
    for attempt in range(3):
        try:
            return model, mode, *train(name, model, mode, *options, depth=512), notes
        except RuntimeError as error:
            notes.append(str(error).strip().splitlines()[-2][:160])
    natively = 0
    for attempt in range(3):
        try:
            train(f"{name}-native", model, mode, *options, recorded=False)
        except RuntimeError:
            natively += 1
    return model, mode, None, None, notes + [f"the same without us: {natively} of 3 failed"]


def stacks():
    cases = [(model, mode) for model in MODELS for mode in MODES]
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for model, mode, result, directory, notes in pool.map(lambda case: stacks_of(*case), cases):
            if notes and notes[-1].endswith("3 of 3 failed"):
                skipped("stacks", f"{model} {mode}: PyTorch's history ends this training natively too ({notes[0]})")
            elif notes:
                row("stacks", f"{model} {mode}: trainings that failed with history on", "none", notes, result is not None)
            if result is None:
                continue
            trace = PythonTrace(dumped(directory))
            theirs = [e for e in result["history"] if e["action"] == "alloc"]
            ours = [e for e in trace.events if e["kind"] == "BlockAlloc"]
            allocated = result["stats"]["allocation.all.allocated"]
            ours = ours[:allocated][-len(theirs):]
            what = f"{model} {mode}"
            row("stacks", f"{what}: the same allocations in the same order", len(theirs), len(ours),
                [e["addr"] for e in theirs] == [e["address"] for e in ours])
            equal, different, without = 0, [], 0
            for their, our in zip(theirs, ours):
                _, frames = trace.stacks(our)
                got = [[f.file, f.line, f.name.rsplit(".", 1)[-1]] for f in frames or []]
                if got == their["frames"]:
                    equal += 1
                else:
                    different.append((their["frames"][:3], got[:3]))
                without += bool(their["frames"]) and not got
            share = equal / max(1, len(theirs))
            row("stacks", f"{what}: equal file, line and function of all frames", f"≥ 99.9 % of {len(theirs)}",
                f"{100 * share:.3f} %, first other: {different[:1]}" if different else "100 %", share >= 0.999)
            row("stacks", f"{what}: allocations that have a Python stack there and none here", 0, without)


def cost():
    kinds = {"native": (False, ()), "recorded": (True, ()), "history python": (False, ("--history", "python")),
             "history all": (False, ("--history", "all"))}
    for model in MODELS:
        steps = {"mlp": 300, "resnet50": 60, "gpt2": 60}[model]
        times = {kind: [] for kind in kinds}
        for _ in range(arguments.rounds):
            for kind, (recorded, extra) in kinds.items():
                result, _ = train(f"cost-{model}-{kind.split()[-1]}", model, "plain", "--steps", str(steps), *extra, recorded=recorded)
                times[kind].append(statistics.median(result["step_ms"][steps // 5:]))
        medians = {kind: statistics.median(t) for kind, t in times.items()}
        text = ", ".join(f"{kind} {m:.3f} ms ({m / medians['native']:.3f}x; {min(times[kind]):.3f} to {max(times[kind]):.3f})"
                         for kind, m in medians.items())
        row("cost", f"{model}: median step time", "no limit", text, True)


SITE_JOB = """
import torch
model = torch.nn.Sequential(torch.nn.Linear(512, 2048), torch.nn.ReLU(), torch.nn.Linear(2048, 512)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
history, kept = [], []
for step in range(60):
    x = torch.randn(256, 512, device="cuda")
    optimizer.zero_grad()
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
    LINE
"""


def sites():
    lines = {"losses": "history.append(loss.detach().clone())", "graph": "kept.append(model(x).mean())"}
    for what, line in lines.items():
        script = WORK / f"keeps_{what}.py"
        script.write_text(SITE_JOB.replace("LINE", line))
        expected = f"keeps_{what}.py:{SITE_JOB.replace('LINE', line).splitlines().index('    ' + line) + 1}"
        trace = WORK / f"sites-{what}"
        shutil.rmtree(trace, ignore_errors=True)
        subprocess.run([BUILD / "bin" / "vramtrace", "run", "-q", "-o", trace, "--", sys.executable, script], check=True)
        process = max(reported(trace), key=lambda p: p["recording"]["events"])
        first = process["findings"][0] if process["findings"] else {}
        row("sites", f"a job that keeps its {what}: the first finding names the user's line", f"growth at {expected}",
            f"{first.get('class')} at {first.get('place')}: {first.get('title')}",
            first.get("class") == "growth" and first.get("place") == expected)


PARTS = {"counts": counts, "stacks": stacks, "cost": cost, "sites": sites}
for part in arguments.only or PARTS:
    PARTS[part]()
wrong = [r for r in rows if r["right"] is False]
right = sum(r["right"] is True for r in rows)
print(f"{right} right, {len(wrong)} not, {len(rows) - right - len(wrong)} could not be compared")
if arguments.json:
    pathlib.Path(arguments.json).write_text(json.dumps(rows, indent=1, default=str))
sys.exit(bool(wrong))
