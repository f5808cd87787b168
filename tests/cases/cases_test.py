# SPDX-License-Identifier: Apache-2.0
"""Public reports as programs, run under the preload on the simulated CUDA: does the report say what happened?

Prints a table: case, what was checked, right or what differs. Run with ctest, or: cases_test.py [CASE…], as "C10".
"""
import concurrent.futures
import sys
import unittest

from case_row import Outcome, compare
from case_table import NEEDS_A_GPU, ROWS
from gate_rows import GATE_ROWS

chosen = {argument for argument in sys.argv[1:] if argument.startswith("C")}


class Cases(unittest.TestCase):
    def test_cases(self):
        rows = [row for row in ROWS if not chosen or row.case in chosen]
        self.assertTrue(rows)
        table = []
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            for row, outcome in zip(rows, pool.map(self.outcome, rows)):
                wrong = [str(outcome)] if isinstance(outcome, Exception) else compare(outcome)
                table.append(f"{row.case:4} {row.what:70} {'right' if not wrong else 'WRONG'}")
                table += [f"       {sentence}" for sentence in wrong]
                with self.subTest(case=row.case, command=row.command):
                    self.assertEqual(wrong, [])
        table += [f"{case:4} {what:70} needs a GPU: tests/cases/gpu/{script}" for case, what, script in NEEDS_A_GPU]
        print("\n" + "\n".join(table))

    @staticmethod
    def outcome(row):
        try:
            return Outcome(row)
        except (AssertionError, OSError, ValueError) as error:
            return error

    def test_gate(self):
        for row in GATE_ROWS:
            if chosen and row.case not in chosen:
                continue
            with self.subTest(case=row.case, what=row.what):
                code, output = row.run()
                right = code == row.exit_code and row.says in output
                print(f"{row.case:4} {row.what:70} {'right' if right else 'WRONG'}")
                self.assertEqual(code, row.exit_code, output)
                self.assertIn(row.says, output)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *(a for a in sys.argv[1:] if not a.startswith("C"))])
