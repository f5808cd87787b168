# SPDX-License-Identifier: Apache-2.0
"""The oracle: random programs on the simulated CUDA, compared with the simulator's own ledger, exactly.

`turns`: threads take turns, so the order of the trace is the order of the ledger: live set, bytes per call site, peak and
what it consisted of must be equal to the byte. `free`: threads run against each other; an allocation is recorded after its
call and a release before it, so only what does not depend on the order between threads is compared.
Run one by hand: VRAMTRACE_BUILD=build PYTHONPATH=tests/support python3 tests/system/oracle_test.py
Environment: ORACLE_SEED (default: fixed seeds), ORACLE_OPERATIONS (default 100000).
"""
import json
import os
import re
import unittest

from preloaded_run import PROGRAMS, Case, report

OPERATIONS = int(os.environ.get("ORACLE_OPERATIONS", "100000"))
SEEDS = [int(s) for s in os.environ.get("ORACLE_SEED", "1").split(",")]

# quantity of the report → quantity of the ledger
QUANTITIES = {"device": "device_total", "managed": "managed", "host-pinned": "host", "host-registered": "host_registered"}


def site_of(row):
    """Tag of the site function in a row's call stack: site<7ul>(oracle::Job&) has tag 8. main's own two count as tag 1."""
    for frame in row["stack"]:
        match = re.search(r"site<(\d+)", frame["function"])
        if match:
            return int(match[1]) + 1
    return 1


def tags(entries):
    return {entry["tag"]: entry["bytes"] for entry in entries if entry["bytes"]}


class Oracle(Case):
    def run_program(self, seed, mode, threads):
        ledger_file = self.directory / "ledger.json"
        result = self.run_preloaded([PROGRAMS / "oracle_program", seed, OPERATIONS, threads, mode], timeout=300,
                                    ORACLE_LEDGER=ledger_file)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        ledger = json.loads(ledger_file.read_text())
        everything = next(d for d in ledger["devices"] if d["device"] == -1)
        self.ledger = {t["quantity"]: t for t in everything["totals"]}
        self.process = report(self.trace, "-n", "100000")["processes"][0]
        relaunched = re.search(r"^relaunched (\d+) (\d+)$", result.stdout, re.M)
        self.assertGreater(int(relaunched[1]), 10)
        device = self.ledger["device_total"]  # the ledger counts what an automatic free and a new launch make as new
        for what, by in (("count", int(relaunched[1])), ("bytes", int(relaunched[2]))):
            device["created_" + what] -= by
            device["ended_" + what] -= by
        self.totals = {t["quantity"]: t for t in self.process["totals"]}
        self.assertEqual(sum(self.process["recording"]["losses"].values()), 0, "events were lost: nothing can be compared")

    def check_order_free(self):
        for ours, theirs in QUANTITIES.items():
            with self.subTest(ours):
                total, truth = self.totals[ours], self.ledger[theirs]
                self.assertGreater(truth["created_count"], 50)
                self.assertEqual(total["allocated"], {"bytes": truth["created_bytes"], "count": truth["created_count"]})
                self.assertEqual(total["live_at_end"], {"bytes": truth["live_bytes"], "count": truth["live_count"]})
                ended = [a for name, a in total["ended"].items()]
                self.assertEqual(sum(a["bytes"] for a in ended), truth["ended_bytes"])
                self.assertEqual(sum(a["count"] for a in ended), truth["ended_count"])
        self.assertEqual(self.process["recording"]["oddities"]["lost_frees"], 0)
        # Bytes per site, all quantities together: what the sites' functions left behind.
        truth = {}
        for theirs in QUANTITIES.values():
            for tag, size in tags(self.ledger[theirs]["live_by_tag"]).items():
                truth[tag] = truth.get(tag, 0) + size
        seen = {}
        for row in self.process["leaks"]["rows"]:
            if row["live_at_end"]["bytes"]:
                tag = site_of(row)
                seen[tag] = seen.get(tag, 0) + row["live_at_end"]["bytes"]
        self.assertEqual(seen, truth)

    def check_peak(self):
        for ours, theirs in QUANTITIES.items():
            with self.subTest(f"peak of {ours}"):
                self.assertEqual(self.totals[ours]["peak"]["bytes"], self.ledger[theirs]["peak_bytes"])
        peak = self.process["devices"][0]["peak"]
        self.assertEqual(peak["bytes"], self.ledger["device_total"]["peak_bytes"])
        seen = {}
        for row in peak["by_site"]["rows"]:
            if row["bytes"]:
                tag = site_of(row)
                seen[tag] = seen.get(tag, 0) + row["bytes"]
        self.assertEqual(seen, tags(self.ledger["device_total"]["peak_by_tag"]))

    def test_turns(self):
        for seed in SEEDS:
            with self.subTest(seed=seed):
                self.run_program(seed, "turns", 4)
                self.check_order_free()
                self.check_peak()
                self.trace = self.directory / f"trace-{seed}"

    def test_free_running_threads(self):
        for seed in SEEDS:
            with self.subTest(seed=seed):
                self.run_program(seed + 100, "free", 4)
                self.check_order_free()
                self.trace = self.directory / f"trace-{seed}"


if __name__ == "__main__":
    unittest.main()
