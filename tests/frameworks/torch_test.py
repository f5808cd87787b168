# SPDX-License-Identifier: Apache-2.0
"""An unmodified PyTorch, CUDA build, under the preload: what the trace says of its blocks against what PyTorch says itself.

Runs on the simulated CUDA with the PyTorch that `scripts/install_dependencies.sh --with-frameworks` installs into
.venv-frameworks/; without it the test is skipped (exit status 77). On a machine with a GPU:
    VRAMTRACE_BUILD=build VRAMTRACE_TORCH_PYTHON=python3 VRAMTRACE_REAL_CUDA=1 PYTHONPATH=tests/support \
        python3 tests/frameworks/torch_test.py -v
"""
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

from preloaded_run import SIMULATOR, VRAMTRACE, Case, dump

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = os.environ.get("VRAMTRACE_TORCH_PYTHON", str(HERE.parents[1] / ".venv-frameworks/bin/python"))
COMPILER = os.environ.get("CC", "cc")
REAL = os.environ.get("VRAMTRACE_REAL_CUDA", "") not in ("", "0")
SKIPPED = 77
MARKER = 15 * 512  # of torch_jobs.py
PLUGGABLE = """
int cudaMalloc(void** memory, unsigned long bytes);
int cudaFree(void* memory);
void* plugged_alloc(long bytes, int device, void* stream) { void* memory = 0; cudaMalloc(&memory, bytes); return memory; }
void plugged_free(void* memory, long bytes, int device, void* stream) { cudaFree(memory); }
"""
HOW = ("allocated", "freed", "current", "peak")


class Stat:
    """As PyTorch counts: what came, what went, what is there and the most that was."""

    def __init__(self):
        self.allocated = self.freed = self.current = self.peak = 0

    def add(self, amount):
        self.allocated += amount
        self.current += amount
        self.peak = max(self.peak, self.current)

    def take(self, amount):
        self.freed += amount
        self.current -= amount


class Device:
    def __init__(self):
        self.blocks, self.block_bytes, self.segments, self.reserved = Stat(), Stat(), Stat(), Stat()
        self.live = {}
        self.ooms = 0

    def as_torch_says(self):
        named = {"allocation": self.blocks, "allocated_bytes": self.block_bytes, "segment": self.segments,
                 "reserved_bytes": self.reserved}
        return {f"{name}.all.{how}": getattr(stat, how) for name, stat in named.items() for how in HOW} | {
            "num_ooms": self.ooms}


class Replay:
    """Counts the events of one process up to each marker block."""

    def __init__(self, test, events):
        self.test, self.devices, self.moments = test, collections.defaultdict(Device), []
        self.segments, self.mapped = {}, {}  # address: (bytes, device)
        self.handles = {}  # of cuMemCreate: device. A mapping's own device is that of its thread's context, if it has one
        for event in events:
            getattr(self, event["kind"], lambda event: None)(event)

    def DeviceAlloc(self, event):
        if event["label"] != "cudaMalloc":
            return
        self.segments[event["address"]] = (event["size"], event["device"])
        self.devices[event["device"]].segments.add(1)
        self.devices[event["device"]].reserved.add(event["size"])

    def DeviceFree(self, event):
        if event["address"] in self.segments:
            size, device = self.segments.pop(event["address"])
            self.devices[device].segments.take(1)
            self.devices[device].reserved.take(size)

    def PhysicalCreate(self, event):
        self.handles[event["object"]] = event["aux"] & 0xffffffff

    def Map(self, event):
        device = self.handles[event["object"]]
        self.mapped[event["address"]] = (event["size"], device)
        self.devices[device].reserved.add(event["size"])

    def Unmap(self, event):
        size, device = self.mapped.pop(event["address"])
        self.test.assertEqual(size, event["size"])
        self.devices[device].reserved.take(size)

    def lies_in_a_segment(self, event):
        end = event["address"] + event["size"]
        if any(a <= event["address"] and end <= a + size for a, (size, _) in self.segments.items()):
            return True
        at = event["address"]  # maybe over several mappings, one behind the other
        for start, (size, _) in sorted(self.mapped.items()):
            if start <= at < start + size:
                at = start + size
        return at >= end

    def BlockAlloc(self, event):
        test, device = self.test, self.devices[event["device"]]
        test.assertNotIn(event["address"], device.live, "a block at the address of a live one")
        test.assertTrue(self.lies_in_a_segment(event), event)
        device.live[event["address"]] = event["size"]
        device.blocks.add(1)
        device.block_bytes.add(event["size"])
        self.agrees(event, device)
        if event["size"] == MARKER and event["device"] == 0:
            self.moments.append({number: d.as_torch_says() for number, d in self.devices.items()})

    def BlockFree(self, event):
        device = self.devices[event["device"]]
        self.test.assertEqual(device.live.pop(event["address"], None), event["size"])
        device.blocks.take(1)
        device.block_bytes.take(event["size"])
        self.agrees(event, device)

    def FrameworkOutOfMemory(self, event):
        self.devices[event["device"]].ooms += 1
        self.test.assertEqual(event["api"], "c10::reportOutOfMemoryToProfiler")
        self.agrees(event, self.devices[event["device"]])

    def agrees(self, event, device):
        """Every event carries the framework's own totals."""
        self.test.assertEqual(event["object"], device.block_bytes.current, event)
        self.test.assertEqual(event["aux"], device.reserved.current, event)
        self.test.assertNotEqual(event["stack"], 0, event)


def of_kind(events, *kinds):
    return [event for event in events if event["kind"] in kinds]


class PyTorch(Case):
    @classmethod
    def setUpClass(cls):
        origin = subprocess.run([PYTHON, "-c", "import importlib.util as u; print(u.find_spec('torch').origin)"],
                                capture_output=True, text=True, check=True).stdout
        folder = pathlib.Path(origin).parent
        version = re.search(r"__version__ = '(\d+)\.(\d+)", (folder / "version.py").read_text())
        # 2.9 has renamed it.
        cls.conf = "PYTORCH_ALLOC_CONF" if (int(version[1]), int(version[2])) >= (2, 9) else "PYTORCH_CUDA_ALLOC_CONF"
        # PyTorch's own modules are kept compiled between the jobs, whatever ctest says.
        cls.environment = {"PYTHONWARNINGS": "ignore", "PYTHONDONTWRITEBYTECODE": "", "DISABLE_ADDMM_CUDA_LT": "1"}
        if REAL:
            cls.environment["LD_LIBRARY_PATH"] = os.environ.get("LD_LIBRARY_PATH", "")
        else:
            stand_ins = pathlib.Path(os.environ["VRAMTRACE_BUILD"]) / "tests/frameworks/stand_ins"
            subprocess.run([sys.executable, HERE / "vendor_stand_ins.py", folder / "lib", stand_ins,
                            COMPILER], check=True, capture_output=True)
            cls.environment |= {"LD_LIBRARY_PATH": f"{SIMULATOR}:{stand_ins}", "VRAMTRACE_SIM_MEMORY": "2G",
                                "VRAMTRACE_SIM_DEVICES": "2"}

    def job(self, name, preloaded=True, **variables):
        """(what the job wrote, its events)"""
        output = self.directory / f"{name}.json"
        run = self.run_preloaded if preloaded else self.run_native
        result = run([PYTHON, HERE / "torch_jobs.py", name, output], timeout=300, **(self.environment | variables))
        self.assertEqual(result.returncode, 0, result.stderr[-3000:])
        return json.loads(output.read_text()), dump(self.trace) if preloaded and self.trace.exists() else []

    def facts(self):
        text = subprocess.run([VRAMTRACE, "dump", self.trace], capture_output=True, text=True, check=True).stdout
        return [line.split(" Fact ", 1)[1] for line in text.splitlines() if " Fact " in line]

    def check_equal_at_all_moments(self, job, events):
        replay = Replay(self, events)
        self.assertEqual(len(replay.moments), len(job["moments"]))
        for ours, theirs in zip(replay.moments, job["moments"]):
            for number, expected in enumerate(theirs["devices"]):
                found = ours.get(number, Device().as_torch_says())
                if replay.mapped:  # an expandable segment is an address range, of which the driver's calls tell no count
                    for how in HOW:
                        del found[f"segment.all.{how}"], expected[f"segment.all.{how}"]
                self.assertEqual(found, expected, f"{theirs['name']}, device {number}")
        self.assertFalse(replay.devices[0].live, "blocks that were never given back")
        return replay

    def test_every_count_and_byte_is_pytorchs(self):
        job, events = self.job("all")
        replay = self.check_equal_at_all_moments(job, events)
        self.assertGreater(replay.devices[0].blocks.allocated, 1000)
        self.assertEqual(replay.devices[0].ooms, 2)
        for event in of_kind(events, "BlockAlloc", "BlockFree"):
            self.assertEqual(event["api"], "c10::reportMemoryUsageToProfiler")
        # Autograd's thread and four of Python's.
        self.assertGreaterEqual(len({e["thread"] for e in of_kind(events, "BlockAlloc")}), 6)
        facts = "\n".join(self.facts())
        self.assertRegex(facts, r"framework\\x00PyTorch \d+\.\d+\.\d+")
        self.assertRegex(facts, r"framework_path\\x00/.*/libc10\.so")

        native, _ = self.job("all", preloaded=False)
        for ours, theirs in zip(job["moments"], native["moments"]):
            if theirs["name"] != "threads":  # whose order is nobody's
                self.assertEqual(ours, theirs, "the job's own numbers changed under the preload")

    def test_expandable_segments(self):
        job, events = self.job("all", **{self.conf: "expandable_segments:True"})
        self.assertTrue(of_kind(events, "Map"))
        self.check_equal_at_all_moments(job, events)
        self.assertIn(f"allocator\\x00{self.conf}=expandable_segments:True", self.facts())

    def test_observers_of_pytorchs_own_still_see(self):
        native, _ = self.job("observers", preloaded=False)
        job, events = self.job("observers")
        self.assertEqual(job, native)
        self.assertGreaterEqual(len(job["result"]["profiler"]), 3)
        self.assertEqual(job["result"]["ooms"], 1)
        self.assertIn(["alloc", 4000], job["result"]["history"])
        self.assertTrue(job["result"]["line"])
        self.assertEqual(len(of_kind(events, "FrameworkOutOfMemory")), 1)

    def test_workers_and_forks_leave_no_trace(self):
        job, events = self.job("workers")
        self.assertEqual({event["pid"] for event in events}, {job["result"]["parent"]})
        self.check_equal_at_all_moments(job, events)

    def test_allocators_without_blocks(self):
        library = self.directory / "plugged.so"
        subprocess.run([COMPILER, "-shared", "-fPIC", "-x", "c", "-o", library, "-"], input=PLUGGABLE, text=True, check=True)
        for variables, alloc, free in (({"TEST_PLUGGABLE_ALLOCATOR": library}, "DeviceAlloc", "DeviceFree"),
                                       ({self.conf: "backend:cudaMallocAsync"}, "PoolAlloc", "PoolFree"),
                                       ({"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}, "DeviceAlloc", "DeviceFree")):
            with self.subTest(str(variables)):
                self.trace = self.directory / next(iter(variables))
                job, events = self.job("tensors", **variables)
                self.assertFalse(of_kind(events, "BlockAlloc", "BlockFree"))
                live = {}
                for event in of_kind(events, alloc, free):
                    live[event["address"]] = event["size"] if event["kind"] == alloc else 0
                sizes = [size for size in live.values() if size]
                self.assertEqual((len(sizes), sum(sizes)), (job["result"]["tensors"], job["result"]["bytes"]))
                for name, value in variables.items():
                    if not name.startswith("TEST_"):
                        self.assertIn(f"allocator\\x00{name}={value}", self.facts())

    def test_blocks_can_be_left_out(self):
        _, events = self.job("observers", VRAMTRACE_FRAMEWORKS="0")
        self.assertTrue(of_kind(events, "DeviceAlloc"))
        self.assertFalse(of_kind(events, "BlockAlloc", "BlockFree", "FrameworkOutOfMemory"))


if __name__ == "__main__":
    if shutil.which(PYTHON) is None:
        print(f"{PYTHON} is not there: scripts/install_dependencies.sh --with-frameworks installs it")
        sys.exit(SKIPPED)
    unittest.main()
