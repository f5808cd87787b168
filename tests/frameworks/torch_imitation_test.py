# SPDX-License-Identifier: Apache-2.0
"""The hooks into PyTorch on an imitation of its linkage: libc10_cuda.so calls libc10.so through its PLT, both RTLD_LOCAL."""
import unittest

from preloaded_run import BUILD, Case, dump

PARTS = BUILD / "tests/frameworks"
SEGMENT = 2 << 20


class Imitation(Case):
    def events(self, situation, **variables):
        job = [PARTS / "torch_job", situation, PARTS]
        native = self.run_native(job)
        self.assertEqual((native.returncode, native.stderr), (0, ""))
        result = self.run_preloaded(job, **variables)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.all = dump(self.trace) if self.trace.exists() else []
        return [e for e in self.all if e["kind"].startswith("Block") or e["kind"] == "FrameworkOutOfMemory"]

    def test_all_names_are_recorded_and_forwarded(self):
        events = self.events("calls")
        blocks = [e for e in events if e["kind"] != "FrameworkOutOfMemory"]
        self.assertEqual([(e["kind"], e["size"]) for e in blocks],
                         [("BlockAlloc", 512), ("BlockAlloc", 1024), ("BlockAlloc", 2048), ("BlockFree", 512),
                          ("BlockFree", 1024), ("BlockFree", 2048), ("BlockAlloc", 1024)])
        self.assertEqual([(e["object"], e["aux"]) for e in blocks[:6]],
                         [(0, 0), (512 + 1024, SEGMENT), (512 + 1024 + 2048, SEGMENT), (0, 0), (2048, SEGMENT), (0, SEGMENT)])
        self.assertEqual([e["device"] for e in blocks], [0] * 6 + [5])
        self.assertEqual({e["api"] for e in blocks}, {"c10::reportMemoryUsageToProfiler"})
        segment = next(e for e in self.all if e["kind"] == "DeviceAlloc")
        self.assertEqual([e["address"] - segment["address"] for e in blocks[:3]], [0, 512, 1536])
        self.assertTrue(all(e["stack"] for e in blocks))
        ooms = [e for e in events if e["kind"] == "FrameworkOutOfMemory"]
        self.assertEqual([(e["size"], e["object"], e["aux"], e["device"]) for e in ooms],
                         [(3 << 20, 0, SEGMENT, 0), (4 << 20, 0, SEGMENT, 0)])

    def test_a_report_handed_on_counts_once(self):
        self.assertEqual([e["kind"] for e in self.events("handed_on")], ["BlockAlloc", "BlockFree"])

    def test_a_forked_child_leaves_no_trace(self):
        self.assertEqual([e["kind"] for e in self.events("forked")], ["BlockAlloc", "BlockFree"])
        self.assertEqual(len({e["pid"] for e in self.all}), 1)

    def test_unloading_and_loading_again(self):
        self.assertEqual([e["size"] for e in self.events("unloaded")], [512 << n for n in range(5) for _ in range(2)])

    def test_the_first_report_while_the_loader_is_locked(self):
        self.assertEqual(sorted(e["kind"] for e in self.events("during_load")), ["BlockAlloc", "BlockAlloc", "BlockFree"])

    def test_a_job_without_pytorch(self):
        self.events("without")
        self.assertFalse(self.trace.exists())

    def test_blocks_can_be_left_out(self):
        self.assertFalse(self.events("calls", VRAMTRACE_FRAMEWORKS="0"))
        self.assertTrue(self.all)

    def test_releases_without_stacks(self):
        for event in self.events("calls", VRAMTRACE_FREE_STACKS="0"):
            self.assertEqual(event["stack"] == 0, event["kind"] == "BlockFree")


if __name__ == "__main__":
    unittest.main()
