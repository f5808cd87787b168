# SPDX-License-Identifier: Apache-2.0
"""The hooks of TensorFlow's allocator on an imitation of its linkage, with regions from the simulated driver."""
import collections
import unittest

from preloaded_run import BUILD, Case, dump, report

PARTS = BUILD / "tests" / "frameworks"
CLASSES = {"bfc_tsl": "tsl", "bfc_tensorflow": "tensorflow"}


class Imitation(Case):
    def run_job(self, name, mode):
        return self.run_preloaded([PARTS / f"{name}_job", PARTS / f"{name}.so", mode])

    def told(self, result):
        """What the job says it did with its blocks, in order."""
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        lines = [line.split() for line in result.stdout.splitlines()]
        return [(word, pool, *map(int, numbers)) for word, pool, *numbers in lines]

    def recorded(self):
        events = dump(self.trace)
        return events, [e for e in events if e["kind"] in ("BlockAlloc", "BlockFree", "FrameworkOutOfMemory")]

    def test_every_block_once_and_in_order(self):
        for name, space in CLASSES.items():
            with self.subTest(name):
                self.trace = self.directory / name
                told = self.told(self.run_job(name, "simple"))
                _, blocks = self.recorded()
                seen = [("alloc", e["address"], e["size"]) if e["kind"] == "BlockAlloc" else
                        ("free", e["address"]) if e["kind"] == "BlockFree" else ("oom", e["size"]) for e in blocks]
                self.assertEqual(seen, [(word, *numbers) for word, _, *numbers in told])
                self.assertGreater(len(seen), 30)
                for event in blocks:
                    method = "DeallocateRaw" if event["kind"] == "BlockFree" else "AllocateRaw"
                    self.assertEqual(event["api"], f"{space}::BFCAllocator::{method}")
                    self.assertNotEqual(event["stack"], 0)

    def test_blocks_lie_in_the_regions_of_their_pool(self):
        told = self.told(self.run_job("bfc_tsl", "simple"))
        events, _ = self.recorded()
        regions = {"gpu": [e for e in events if e["kind"] == "DeviceAlloc"],
                   "host": [e for e in events if e["kind"] == "HostAlloc"]}
        for word, pool, *numbers in told:
            if word != "alloc":
                continue
            address, size = numbers
            for kind, areas in regions.items():
                inside = [r for r in areas if r["address"] <= address and address + size <= r["address"] + r["size"]]
                self.assertEqual(len(inside), 1 if kind == pool else 0, (word, pool, address, kind))

    def test_addresses_are_free_before_they_come_again(self):
        self.told(self.run_job("bfc_tsl", "threads"))
        _, blocks = self.recorded()
        count = collections.Counter(e["kind"] for e in blocks)
        self.assertEqual(count, {"BlockAlloc": 40000, "BlockFree": 40000})
        live = set()
        for event in blocks:
            if event["kind"] == "BlockAlloc":
                self.assertNotIn(event["address"], live)
                live.add(event["address"])
            else:
                live.remove(event["address"])
        self.assertFalse(live)

    def test_a_child_that_frees_inherited_blocks_has_no_trace(self):
        told = self.told(self.run_job("bfc_tsl", "fork"))
        events, blocks = self.recorded()
        self.assertEqual(len({e["pid"] for e in events}), 1)
        self.assertEqual(len(blocks), len(told))

    def test_an_allocator_out_of_reach_is_said(self):
        self.told(self.run_job("bfc_symbolic", "simple"))
        _, blocks = self.recorded()
        self.assertEqual(blocks, [])
        sentences = [n["text"] for n in report(self.trace)["processes"][0]["recording"]["notes"]]
        self.assertEqual(len(sentences), 1, sentences)
        self.assertIn("TensorFlow hook inactive", sentences[0])
        self.assertIn("bfc_symbolic.so", sentences[0])

    def test_the_job_is_the_same_without_us(self):
        for name in (*CLASSES, "bfc_symbolic"):
            command = [PARTS / f"{name}_job", PARTS / f"{name}.so", "simple"]
            with self.subTest(name):
                lines = [r.stdout.splitlines() for r in (self.run_native(command), self.run_preloaded(command))]
                words = [[(w[0], w[1], *w[3:]) for w in map(str.split, side)] for side in lines]
                self.assertEqual(words[0], words[1])  # all but the addresses
                self.assertGreater(len(words[0]), 30)


if __name__ == "__main__":
    unittest.main()
