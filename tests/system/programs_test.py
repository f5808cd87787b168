# SPDX-License-Identifier: Apache-2.0
"""The programs of tests/programs without us: they do what they say, by the simulated driver's own count.

Other tests compare recordings with the "expect" lines of these programs; this one makes sure of the lines.
"""
import collections
import json
import pathlib
import shutil
import unittest

from preloaded_run import PROGRAMS, SIMULATOR, Case

LOOKUPS = pathlib.Path(__file__).resolve().parents[1] / "data" / "cudart13_lookups.txt"

# Every row allocates by one route; name, arguments.
ROUTES = [
    ("shared_runtime_calls",), ("shared_runtime_calls_ptsz",), ("cudart12_runtime_calls",),
    ("static_runtime_calls",), ("static_runtime_calls_ptsz",),
    ("driver_linked_lazy",), ("driver_linked_now",), ("driver_linked_no_plt",), ("driver_linked_ptsz",),
    ("dlopen_driver", "now"), ("dlopen_driver", "lazy"), ("dlopen_driver", "global"), ("dlopen_driver", "deepbind"),
    ("dlopen_driver", "unversioned"), ("dlopen_driver", "absolute"), ("dlopen_driver", "noload"),
    ("dlopen_driver", "twice"), ("dlopen_driver", "dlmopen"),
    ("proc_address", "v1"), ("proc_address", "v2"), ("proc_address", "v2-null"), ("proc_address", "ptsz"),
    ("proc_address", "self"),
    ("entry_point_shared",), ("entry_point_static",), ("recorded_lookups", str(LOOKUPS)),
    *[("plugin_host", how, plugin) for how in ("local", "global", "deepbind", "dlmopen")
      for plugin in ("plugin_shared.so", "plugin_static.so", "plugin_static_ptsz.so", "plugin_cudart12.so",
                     "plugin_driver.so")],
    ("plugin_host", "local", "origin_plugin.so"),
    ("several_runtimes",),
    ("plugin_reload", "6"),
    ("closefrom_waitpid",),
    ("fork_exec", "threads"), ("fork_exec", "fork-idle"), ("fork_exec", "return"),
    ("nvcc_shared",), ("nvcc_shared_ptsz",), ("nvcc_static",),
]


def expected(output):
    """Number of "expect" lines by driver function."""
    return collections.Counter(line.split()[1] for line in output.splitlines() if line.startswith("expect "))


class Programs(Case):
    def run_with_ledger(self, command, **extra):
        ledger = self.directory / "ledger-%p.json"
        result = self.run_native([PROGRAMS / command[0], *command[1:]], VRAMTRACE_SIM_LEDGER=ledger, **extra)
        counts = collections.Counter()
        for path in sorted(self.directory.glob("ledger-*.json")):
            for call in json.loads(path.read_text())["calls"]:
                counts[call["name"]] += call["successes"]
            path.unlink()
        return result, counts

    def test_routes(self):
        for command in ROUTES:
            if command[0].startswith("nvcc") and not (PROGRAMS / command[0]).exists():
                continue  # no nvcc on this machine
            with self.subTest(command=command):
                result, counts = self.run_with_ledger(command)
                self.assertNotIn("FAIL", result.stdout, result.stderr)
                self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
                wanted = expected(result.stdout)
                self.assertTrue(wanted)
                if command[-1] == "twice":
                    continue  # the driver went and came, and its count began anew
                made = {name: counts[name] for name in counts
                        if name.startswith(("cuMemAlloc", "cuMemHostAlloc", "cuMemCreate")) and counts[name]}
                self.assertEqual(made, dict(wanted))

    def test_recorded_lookups_answer_same_named_exports(self):
        result, _ = self.run_with_ledger(("recorded_lookups", str(LOOKUPS)))
        rows = [line.split() for line in result.stdout.splitlines() if line.startswith("lookup ")]
        self.assertEqual(len(rows), 440)
        for _, name, version, flags, code, symbol, found, verdict in rows:
            if symbol != "NOT_FOUND":
                self.assertEqual((code, verdict), ("0", "same"), (name, version, flags, found))

    def test_missing_driver(self):
        only_runtime = self.directory / "runtime"
        only_runtime.mkdir()
        shutil.copy(SIMULATOR / "libcudart.so.13", only_runtime)
        for program in ("missing_driver", "missing_driver_shared"):
            with self.subTest(program=program):
                result = self.run_native([PROGRAMS / program], LD_LIBRARY_PATH=only_runtime)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertEqual(result.stdout.splitlines()[:8], [
                    "cudaGetDeviceCount 35", "cudaMalloc 35", "cudaMallocHost 35", "cudaMallocAsync 35",
                    "cudaFree 35", "cudaGetLastError 35", "cudaGetLastError 0", "cudaDriverGetVersion 0 0"])
                self.assertIn("noload null", result.stdout)

    def test_an_older_driver_is_insufficient(self):
        result = self.run_native([PROGRAMS / "shared_runtime_calls"], VRAMTRACE_SIM_DRIVER_VERSION=12080)
        self.assertIn("FAIL cudaMalloc(&device, base + 1): 35", result.stdout)
        result = self.run_native([PROGRAMS / "cudart12_runtime_calls"], VRAMTRACE_SIM_DRIVER_VERSION=12080)
        self.assertEqual(result.returncode, 0, result.stdout)

    def test_weak_names_are_null(self):
        result = self.run_native([PROGRAMS / "weak_names"])
        self.assertEqual(result.returncode, 0)
        self.assertEqual(result.stdout.count(" null\n"), 5)

    def test_neighbour(self):
        result = self.run_native([PROGRAMS / "neighbour_user"], LD_PRELOAD=PROGRAMS / "libneighbour.so")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("neighbour cudaMalloc 2 getpriority 1\n", result.stdout)

    def test_every_leak_kind(self):
        for program in ("leak_kinds", "leak_kinds_nvcc"):
            if not (PROGRAMS / program).exists():
                continue
            result = self.run_native([PROGRAMS / program])
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            self.assertGreaterEqual(result.stdout.count("leak "), 20)

    def test_reload_reuses_addresses(self):
        result = self.run_native([PROGRAMS / "plugin_reload", "8"])
        self.assertRegex(result.stdout, r"reused [1-9]\d* of 8")

    def test_ways_to_begin_and_end(self):
        codes = {"return": 0, "exit": 5, "_exit": 6, "quick_exit": 7, "abort": -6, "terminate": -15, "segv": -11,
                 "kill": -9, "fork-idle": 0, "fork-child": 0, "fork-both": 0, "fork-exec": 0, "vfork-exec": 0,
                 "exec": 0, "threads": 0, "leaf": 0}
        for program in ("fork_exec", "fork_exec_static"):
            for mode, code in codes.items():
                with self.subTest(program=program, mode=mode):
                    result = self.run_native([PROGRAMS / program, mode])
                    self.assertNotIn("FAIL", result.stdout)
                    self.assertEqual(result.returncode, code, result.stdout + result.stderr)

    def test_out_of_memory(self):
        result = self.run_native([PROGRAMS / "oom", str(64 << 20)], VRAMTRACE_SIM_MEMORY="1G")
        self.assertEqual(result.returncode, 3, result.stdout + result.stderr)
        self.assertIn("recovered", result.stdout)

    def test_quickstart_and_churn(self):
        result = self.run_native([PROGRAMS / "quickstart_leak"])
        self.assertEqual(result.stdout, "40 steps done\n", result.stderr)
        for program in ("churn", "churn_static"):
            for api in ("malloc", "async"):
                result, counts = self.run_with_ledger(
                    (program, "--threads", "2", "--pairs", "500", "--depth", "20", "--live", "3", "--api", api))
                self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
                pairs = int(result.stdout.split("pairs ")[1])
                self.assertEqual(counts["cuMemAlloc_v2" if api == "malloc" else "cuMemAllocAsync"], pairs)


if __name__ == "__main__":
    unittest.main()
