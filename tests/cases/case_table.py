# SPDX-License-Identifier: Apache-2.0
"""The table: public reports, as programs of this folder, and what must be true of their traces."""
from case_row import GIB, MIB, Row, functions

DEVICE, POOL, GRAPH, MODULE = "device memory", "pool memory", "graph memory", "module"
PHYSICAL = "physical memory handle"
PINNED, REGISTERED = "pinned host memory", "registered host memory"
WORKSPACE = 8519680


def says(text):
    def check(outcome):
        assert text in outcome.output, f"the program did not say {text!r}: {outcome.output}"
    return check


def each_graph_keeps(outcome):
    seen = [line.split()[2] for line in outcome.output.splitlines() if line.startswith("graph ")]
    wanted = [str(64 * MIB * (cycle + 1)) for cycle in range(10)]
    assert seen == wanted, f"the driver's count of graph memory: {seen}"
    at_end = outcome.process["leaks"]["rows"][0]["owner_destroyed"]
    assert at_end == {"bytes": 640 * MIB, "count": 10}, f"executables destroyed: {at_end}"
    assert outcome.part("reserved by pools, unused") in (None, 0), "the ordinary pool is not empty"


def graph_is_empty(outcome):
    assert "graph 9 0 " in outcome.output, outcome.output


def not_explained(least, most):
    def check(outcome):
        seen = outcome.part("not explained by traced calls")
        assert seen is not None and least <= seen <= most, f"not explained: {seen}, not {least} to {most}"
    return check


def failed_request(size, code, function):
    def check(outcome):
        call = outcome.process["failures"]["calls"][0]
        names = [frame["function"].split("(")[0] for frame in call["stack"]]
        assert (call["bytes"], call["result"]) == (size, code), (call["bytes"], call["result"])
        assert function in names, names
        assert call["free_bytes"] is not None and call["free_bytes"] < call["total_bytes"], call["free_bytes"]
    return check


def leaves(size, count):
    def check(outcome):
        left = outcome.process["leak_summary"]
        assert (left["bytes"], left["allocations"]) == (size, count), left
    return check


def one_recording(outcome):
    assert len(outcome.report["processes"]) == 1, len(outcome.report["processes"])
    assert outcome.seconds < 20, f"it took {outcome.seconds:.0f} s"


def peak_is_of(function):
    def check(outcome):
        rows = outcome.process["devices"][0]["peak"]["by_site"]["rows"]
        assert all(function in functions(row) for row in rows), [row["title"] for row in rows]
    return check


def six_idle_contexts(outcome):
    processes = outcome.report["processes"]
    assert len(processes) == 6, len(processes)
    for process in processes:
        contexts = [h for h in process["handle_counts"] if h["kind"] == "primary context"]
        assert [(c["device"], c["made"]) for c in contexts] == [(0, 1)], contexts
        assert all(t["allocated"]["bytes"] == 0 for t in process["totals"]), process["totals"]


def contexts_on(devices, function):
    def check(outcome):
        contexts = [h for h in outcome.process["handle_counts"] if h["kind"] == "primary context"]
        assert {c["device"] for c in contexts} == devices, contexts
    return check


def communicators(device_bytes, pinned_bytes):
    def check(outcome):
        left = outcome.process["leak_summary"]["by_quantity"]
        assert left["device"]["bytes"] == device_bytes, left
        assert left["host-pinned"]["bytes"] == pinned_bytes, left
        rows = outcome.process["leaks"]["rows"]
        assert all("parallel_group" in functions(row) and row["inside"] == "libnccl.so.2" for row in rows), rows
    return check


ROWS = [
    Row("C1", "kept exceptions hold 10 x 256 MiB, freed later", ("c01_kept_exception", "kept"),
        peak={"device": 2560 * MIB}, allocated={"device": (2560 * MIB, 10)},
        expected_verdict={"raising_function": "delayed-release"}),
    Row("C1", "control: forgotten at once", ("c01_kept_exception", "control"), peak={"device": 256 * MIB},
        expected_verdict={"raising_function": None}),
    Row("C3", "20 x 100 MiB until a late collection", ("c03_retention", "collected"), peak={"device": 2000 * MIB},
        expected_verdict={"module_on_device": "delayed-release"}),
    Row("C3", "results of 50 steps in a list", ("c03_retention", "appended"),
        [("forward", DEVICE, 1000 * MIB, 50)], expected_verdict={"forward": "growth"}),
    Row("C3", "control: dropped", ("c03_retention", "control"), peak={"device": 20 * MIB},
        expected_verdict={"forward": None}),
    Row("C4", "a workspace a stream", ("c04_workspaces", "once"), [("small_matmul", DEVICE, 8 * WORKSPACE, 8)],
        expected_verdict={"small_matmul": "library-cache"}),
    Row("C4", "the same 8 streams five times: nothing more", ("c04_workspaces", "again"),
        [("small_matmul", DEVICE, 8 * WORKSPACE, 8)], expected_verdict={"small_matmul": "library-cache"}),
    Row("C4", "control: handle destroyed in the end", ("c04_workspaces", "control"),
        expected_verdict={"small_matmul": "delayed-release"}),
    Row("C7", "graph memory outlives its executable, each launch counted once", ("c07_graph_memory", "kept"),
        [("captured_arrays", GRAPH, 640 * MIB, 10)], made={"executable graph": (10, 0)},
        allocated={"device": (640 * MIB, 10)}, extra=each_graph_keeps, expected_verdict={"captured_arrays": "growth"}),
    Row("C7", "control: freed in the graph", ("c07_graph_memory", "control"), peak={"device": 64 * MIB},
        extra=graph_is_empty, expected_verdict={"captured_arrays": None}),
    Row("C8", "100 modules of 4 MiB, none unloaded", ("c08_modules", "kept"), [("compiled_variant", MODULE, 0, 100)],
        extra=not_explained(650 * MIB, 701 * MIB), expected_verdict={"compiled_variant": "handles"}),
    Row("C8", "the same from a file", ("c08_modules", "file"), [("compiled_variant", MODULE, 0, 100)],
        extra=not_explained(650 * MIB, 701 * MIB), expected_verdict={"compiled_variant": "handles"}),
    Row("C8", "control: unloaded", ("c08_modules", "control"), extra=not_explained(300 * MIB, 304 * MIB),
        expected_verdict={"compiled_variant": None}),
    Row("C10", "missing frees on error and resize paths", ("c10_error_paths", "leaking"),
        [("solver_f", DEVICE, 80 * MIB, 10), ("resize_g", DEVICE, 20 * MIB, 4)],
        allocated={"device": (268 * MIB, 35)}, expected_verdict={"solver_f": "growth", "resize_g": "left-at-exit"}),
    Row("C10", "control: freed on all paths", ("c10_error_paths", "control"), allocated={"device": (268 * MIB, 35)},
        expected_verdict={"solver_f": None, "resize_g": None}),
    Row("C12", "registrations undone with a wrong pointer", ("c12_registrations", "wrong"),
        [("register_window", REGISTERED, 256 * MIB, 8)], peak={"device": 0},
        refused=[("register_window", "cudaHostUnregister → cuMemHostUnregister", 713, 8)],
        expected_verdict={"register_window": "handles"}),
    Row("C12", "control", ("c12_registrations", "control"), expected_verdict={"register_window": None}),
    Row("C14", "three owners alive", ("c14_owners", "three"), [("Resources::Resources", DEVICE, 1536 * MIB, 3)],
        expected_verdict={"Resources::Resources": "left-at-exit"}),
    Row("C14", "one owner, assigned three times", ("c14_owners", "reassigned"),
        [("Resources::Resources", DEVICE, 512 * MIB, 1)], peak={"device": 1024 * MIB},
        allocated={"device": (1536 * MIB, 3)}, expected_verdict={"Resources::Resources": "left-at-exit"}),
    Row("C14", "control", ("c14_owners", "control"), expected_verdict={"Resources::Resources": None}),
    Row("C16", "a pool of the process, 32 GiB of addresses", ("c16_global_pool", "kept"),
        [("pool_grow", PHYSICAL, 64 * MIB, 32)], addresses=32 * GIB, peak={"device": 1088 * MIB},
        allocated={"device": (2 * GIB + 64 * MIB, 34)}),
    Row("C16", "control: taken down in the end", ("c16_global_pool", "control"),
        expected_verdict={"pool_grow": "delayed-release"}),
    Row("C18", "the driver's refusal, with what was free", ("c18_split_segment", "split"),
        [("big_tensor", DEVICE, 8 * GIB, 1)], failures=(1, 0), exit_code=3, settings={"VRAMTRACE_SIM_MEMORY": "12G"},
        extra=failed_request(8 * GIB, 2, "grow_segments"), expected_verdict={"new_segment": "left-at-exit"}),
    Row("C18", "control: small blocks freed first", ("c18_split_segment", "control"),
        settings={"VRAMTRACE_SIM_MEMORY": "12G"}, extra=says("the cache had it"),
        expected_verdict={"new_segment": None}),
    Row("C21", "a pool's own limit: no CUDA call failed", ("c21_pool_limit", "early"),
        [("first_array", DEVICE, 512 * MIB, 1)], extra=says("own limit"),
        expected_verdict={"new_segment": "left-at-exit"}),
    Row("C21", "control: flushed first", ("c21_pool_limit", "control"), peak={"device": 768 * MIB},
        expected_verdict={"new_segment": None}),
    Row("C23", "a cached segment a stream", ("c23_stream_caches", "fresh"), [("prefetch", DEVICE, 5 * GIB, 10)],
        made={"stream": (10, 0)}, expected_verdict={"new_segment": "growth"}),
    Row("C23", "control: one stream", ("c23_stream_caches", "control"), [("prefetch", DEVICE, 512 * MIB, 1)],
        made={"stream": (1, 0)}, expected_verdict={"new_segment": "left-at-exit"}),
    Row("C24", "pinned requests as the driver saw them", ("c24_pinned_rounding", "rounded"),
        [("pinned_tensor", PINNED, 2048 * MIB, 8)]),
    Row("C24", "control: not rounded", ("c24_pinned_rounding", "control"), [("pinned_tensor", PINNED, 1036 * MIB, 8)]),
    Row("C27", "refused while another pool could be trimmed, then not", ("c27_untrimmed_pool", "untrimmed"),
        failures=(1, 1), settings={"VRAMTRACE_SIM_FAIL": "cuMemAllocFromPoolAsync:count=1"},
        extra=failed_request(40 * GIB, 2, "ask_second_pool")),
    Row("C27", "control: trimmed first", ("c27_untrimmed_pool", "control"), extra=says("first answer 0")),
    Row("C28", "a half-done mapping", ("c28_half_mapped", "left"), [("map_granule", PHYSICAL, 10 * MIB, 5)],
        addresses=GIB, failures=(1, 0), refused=[("give_up_range", "cuMemAddressFree", 1, 1)]),
    Row("C28", "control", ("c28_half_mapped", "control"), expected_verdict={"map_granule": None}),
    Row("C29", "init before main and by 8 threads at once", ("c29_start", "early"), peak={"device": MIB},
        extra=one_recording),
    Row("C29", "control", ("c29_start", "control"), peak={"device": MIB}, extra=one_recording),
    Row("C33", "failing calls move no total", ("c33_failed_calls", "mixed"), peak={"device": 64 * MIB},
        allocated={"device": (65 * MIB, 2)}, failures=(2, 0),
        refused=[("wrong_calls", "cuMemFree_v2", 1, 1), ("good_pair", "cuMemFree_v2", 1, 1),
                 ("free_on_destroyed_stream", "cuMemFreeAsync", 400, 1)]),
    Row("C33", "control: the good pair", ("c33_failed_calls", "control"), peak={"device": 64 * MIB},
        allocated={"device": (64 * MIB, 1)}),
    *[Row("C35", f"each allocation once, {how} runtime", (program,),
          [("by_runtime", DEVICE, 64 * MIB, 1), ("by_driver", DEVICE, 32 * MIB, 1), ("by_stream", POOL, 16 * MIB, 1)],
          peak={"device": 864 * MIB}, allocated={"device": (864 * MIB, 19)})
      for how, program in (("shared", "c35_layers"), ("static", "c35_layers_static"))],
    Row("C35", "control: all freed", ("c35_layers", "control"), allocated={"device": (864 * MIB, 19)}),
    *[Row("C39", f"three leaks, {how}", (program,), [("leaks_ten_megabytes", DEVICE, 30 * MIB, 3)])
      for how, program in (
          ("plain", "c39_three_leaks"), ("DWARF 5", "c39_dwarf5"), ("compressed", "c39_compressed"),
          ("split", "c39_split"), ("own unwinder", "c39_own_unwinder"))],
    # Without names the three calls of an unrolled loop are three places.
    Row("C39", "three leaks, stripped", ("c39_stripped",), leaks=None, extra=leaves(30 * MIB, 3)),
    Row("C43", "small leaks of each kind, to the byte", ("c43_small_leaks", "leaking"),
        [("test_runtime_767", DEVICE, 767, 1), ("test_runtime_512", DEVICE, 512, 1), ("test_driver_4", DEVICE, 4, 1),
         ("test_async_2097152", POOL, 2 * MIB, 1), ("test_pinned_4", PINNED, 4, 1)]),
    Row("C43", "control", ("c43_small_leaks", "control")),
    *[Row("C45", f"peaks in program order, run {seed}", ("c45_peaks", str(seed)), peak={"device": 256 * MIB},
          settings={"VRAMTRACE_SIM_ASYNC": "1"}) for seed in range(1, 6)],
    Row("C45", "variant: 2 % more in the second section", ("c45_peaks", "larger", "1"), peak={"device": 261 * MIB},
        settings={"VRAMTRACE_SIM_ASYNC": "1"}, extra=peak_is_of("second_section")),
    Row("C46", "six workers, a context each, nothing allocated", ("c46_contexts", "workers"),
        made={"primary context": (1, 0)}, extra=six_idle_contexts),
    Row("C46", "a helper thread's context on device 0", ("c46_contexts", "helper"),
        settings={"VRAMTRACE_SIM_DEVICES": "2"}, extra=contexts_on({0, 1}, "helper_pins_memory")),
    Row("C46", "control: it selects its device", ("c46_contexts", "control"),
        settings={"VRAMTRACE_SIM_DEVICES": "2"}, extra=contexts_on({1}, None)),
    Row("C48", "receiver: 20 imports open", ("c48_imports", "kept"), role="B",
        made={"IPC memory": (20, 20)}, expected_verdict={"receiver_opens": "handles"}),
    # Each simulated process has a device of its own: that the sender's free memory shrinks shows on a real one only.
    Row("C48", "sender: nothing left", ("c48_imports", "kept"), role="A", allocated={"device": (1281 * MIB, 21)}),
    Row("C48", "control: closed", ("c48_imports", "control"), role="B", expected_verdict={"receiver_opens": None}),
    Row("C50", "communicators dropped in ten cycles", ("c50_communicators", "dropped"),
        settings={"VRAMTRACE_SIM_DEVICES": "2"}, leaks=None, extra=communicators(960 * MIB + 50 * MIB, 40 * MIB),
        expected_verdict={}),
    Row("C50", "control: the one-time rest alone, no growth", ("c50_communicators", "control"),
        [("parallel_group", DEVICE, 50 * MIB, 1)], settings={"VRAMTRACE_SIM_DEVICES": "2"},
        expected_verdict={"parallel_group": "library-cache"}),
]

# Scripts for a real GPU, which print what is true as JSON: case, what, script.
NEEDS_A_GPU = [
    ("C1", "kept exceptions, PyTorch", "c01_kept_exception.py"),
    ("C3", "hook closures and result lists, PyTorch", "c03_retention.py"),
    ("C4", "cuBLAS workspaces of 8 streams, PyTorch", "c04_workspaces.py"),
    ("C18", "small tensors split a segment, PyTorch", "c18_split_segment.py"),
    ("C23", "a new stream per epoch, PyTorch", "c23_stream_caches.py"),
    ("C24", "pinned tensors rounded up, PyTorch", "c24_pinned_rounding.py"),
    ("C50", "NCCL communicators, PyTorch", "c50_communicators.py"),
]
