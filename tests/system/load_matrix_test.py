# SPDX-License-Identifier: Apache-2.0
"""Every way in which a program can reach the driver: each allocation is seen exactly once, with the driver function that
was reached, the size, and, where a runtime function was called, its name. The programs print what they do; see
tests/programs/expect.h."""
import collections
import re
import unittest

from preloaded_run import PROGRAMS, Case, dump, report

ALLOCATIONS = {"DeviceAlloc", "ManagedAlloc", "HostAlloc", "HostRegister", "PoolAlloc", "PhysicalCreate", "ArrayCreate",
               "MipmapCreate", "GraphAlloc"}

# name → (command, environment): seen completely.
SEEN = {
    "shared runtime": (["shared_runtime_calls"], {}),
    "shared runtime, per-thread streams": (["shared_runtime_calls_ptsz"], {}),
    "shared runtime of CUDA 12": (["cudart12_runtime_calls"], {}),
    "static runtime": (["static_runtime_calls"], {}),
    "static runtime, per-thread streams": (["static_runtime_calls_ptsz"], {}),
    "linked with the driver, lazy": (["driver_linked_lazy"], {}),
    "linked with the driver, now": (["driver_linked_now"], {}),
    "linked with the driver, -fno-plt": (["driver_linked_no_plt"], {}),
    "linked with the driver, per-thread streams": (["driver_linked_ptsz"], {}),
    "dlopen now + dlsym": (["dlopen_driver", "now"], {}),
    "dlopen lazy + dlsym": (["dlopen_driver", "lazy"], {}),
    "dlopen global + dlsym": (["dlopen_driver", "global"], {}),
    "dlopen deepbind + dlsym": (["dlopen_driver", "deepbind"], {}),
    "dlopen libcuda.so": (["dlopen_driver", "unversioned"], {}),
    "dlopen absolute path": (["dlopen_driver", "absolute"], {}),
    "RTLD_NOLOAD probe": (["dlopen_driver", "noload"], {}),
    "dlopen twice": (["dlopen_driver", "twice"], {}),
    "cuGetProcAddress": (["proc_address", "v1"], {}),
    "cuGetProcAddress_v2": (["proc_address", "v2"], {}),
    "cuGetProcAddress_v2, no status": (["proc_address", "v2-null"], {}),
    "cuGetProcAddress_v2, per-thread flag": (["proc_address", "ptsz"], {}),
    "cuGetProcAddress asked for itself": (["proc_address", "self"], {}),
    "cudaGetDriverEntryPoint, shared": (["entry_point_shared"], {}),
    "cudaGetDriverEntryPoint, static": (["entry_point_static"], {}),
    "plugin RTLD_LOCAL, shared runtime": (["plugin_host", "local", "plugin_shared.so"], {}),
    "plugin RTLD_LOCAL, static runtime": (["plugin_host", "local", "plugin_static.so"], {}),
    "plugin RTLD_LOCAL, static, per-thread": (["plugin_host", "local", "plugin_static_ptsz.so"], {}),
    "plugin RTLD_LOCAL, linked with the driver": (["plugin_host", "local", "plugin_driver.so"], {}),
    "plugin RTLD_GLOBAL, shared runtime": (["plugin_host", "global", "plugin_shared.so"], {}),
    "two plugins, two runtimes": (["plugin_host", "local", "plugin_shared.so", "plugin_cudart12.so"], {}),
    "plugin with $ORIGIN": (["plugin_host", "local", "origin_plugin.so"], {}),
    "several runtimes in one process": (["several_runtimes"], {}),
    "a neighbour that forwards with RTLD_NEXT": (["neighbour_user"], {"LD_PRELOAD": str(PROGRAMS / "libneighbour.so")}),
    "plugin DEEPBIND, static runtime, opt-in": (["plugin_host", "deepbind", "plugin_static.so"],
                                                {"VRAMTRACE_STRIP_DEEPBIND": "1"}),
    "plugin DEEPBIND, shared runtime, opt-in": (["plugin_host", "deepbind", "plugin_shared.so"],
                                                {"VRAMTRACE_STRIP_DEEPBIND": "1"}),
    "nvcc, shared runtime": (["nvcc_shared"], {}),
    "nvcc, shared runtime, per-thread streams": (["nvcc_shared_ptsz"], {}),
    "nvcc, static runtime": (["nvcc_static"], {}),
}

# A static runtime's own functions cannot be seen by name: no label.
WITH_STATIC_RUNTIME = re.compile("static|origin_plugin|several_runtimes")

# Not seen, or not by every route, and the report says so.
BLIND = {
    "dlmopen of the driver": (["dlopen_driver", "dlmopen"], {}),
    "plugin DEEPBIND, shared runtime": (["plugin_host", "deepbind", "plugin_shared.so"], {}),
    "plugin in a namespace of its own": (["plugin_host", "dlmopen", "plugin_static.so"], {}),
    "plugin DEEPBIND, static runtime": (["plugin_host", "deepbind", "plugin_static.so"], {}),
}


def expected(stdout):
    """(api, size) → how often, and the label of each api where one was printed."""
    counts, labels = collections.Counter(), collections.defaultdict(set)
    for match in re.finditer(r"^expect (\S+) (\d+)(?: (\S+))?$", stdout, re.M):
        counts[match[1], int(match[2])] += 1
        labels[match[1], int(match[2])].add(match[3] or "")
    return counts, labels


class ProgramCase(Case):
    def run_program(self, command, environment):
        path = PROGRAMS / command[0]
        if not path.exists() and command[0].startswith("nvcc"):
            self.skipTest("built without nvcc")
        native = self.run_native([path, *command[1:]], **{k: v for k, v in environment.items()})
        result = self.run_preloaded([path, *command[1:]], **environment)
        self.assertEqual((result.returncode, result.stdout), (native.returncode, native.stdout), result.stderr)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result

    def check_seen(self, command, environment):
        result = self.run_program(command, environment)
        counts, labels = expected(result.stdout)
        self.assertTrue(counts, "the program announced no allocation")
        events = dump(self.trace)
        seen = [e for e in events if e.get("kind") in ALLOCATIONS]
        self.assertEqual(collections.Counter((e["api"], e["size"]) for e in seen), counts)
        for event in seen:
            wanted = labels[event["api"], event["size"]]
            if not WITH_STATIC_RUNTIME.search(" ".join(command)):
                self.assertIn(event.get("label", ""), wanted | {""} if "" in wanted else wanted)
        self.assertFalse([e for e in events if e.get("kind") == "BlindSpot"])


class LoadMatrix(ProgramCase):
    pass


def add(name, command, environment):
    def test(self):
        self.check_seen(command, environment)
    test.__doc__ = name
    setattr(LoadMatrix, "test_" + re.sub(r"\W+", "_", name), test)


for case_name, (case_command, case_environment) in SEEN.items():
    add(case_name, case_command, case_environment)


class BlindSpots(ProgramCase):
    def test_blind_spots_are_reported(self):
        for name, (command, environment) in BLIND.items():
            with self.subTest(name):
                self.run_program(command, environment)
                events = dump(self.trace)
                self.assertTrue([e for e in events if e.get("kind") == "BlindSpot"], "nothing told of the blind spot")
                notes = report(self.trace)["processes"][0]["recording"]["notes"]
                self.assertIn("blind_spot", [note["kind"] for note in notes])


class WeakNames(Case):
    def test_weak_references_without_cuda(self):
        """A program that would use CUDA if it were there, and it is not. Its weak references are not null under us
        (docs/limits.md); each call through one must answer an error, as on a machine without a GPU, and nothing crash."""
        native = self.run_native([PROGRAMS / "weak_names"], LD_LIBRARY_PATH="")
        result = self.run_preloaded([PROGRAMS / "weak_names"], LD_LIBRARY_PATH="")
        self.assertEqual((native.returncode, result.returncode), (0, 0), result.stdout + result.stderr)
        self.assertNotIn("FAIL", result.stdout)
        self.assertFalse(self.trace.exists())


if __name__ == "__main__":
    unittest.main()
