# SPDX-License-Identifier: Apache-2.0
"""Line tables decoded by the product against what the interpreters themselves say of them, for every interpreter here.

Which ones: tests/support/python_versions.py. No preload and no trace is in this: only tables.
"""
import pathlib
import subprocess
import sys
import unittest

from preloaded_run import BUILD
from python_versions import interpreters

ANSWERS = BUILD / "tests" / "unit" / "python_line_answers"
PROGRAM = pathlib.Path(__file__).resolve().parent.parent / "programs" / "python_code_lines.py"
FILES = "60"  # of the standard library


class PythonLines(unittest.TestCase):
    def test_every_instruction_has_the_line_that_the_interpreter_says(self):
        tested = [i for i in interpreters() if i.name == "cpython" and i.version >= (3, 8)]
        self.assertTrue(tested, "no interpreter here that could be tested")
        for interpreter in tested:
            with self.subTest(str(interpreter)):
                told = subprocess.run([interpreter.command, "-W", "ignore", str(PROGRAM), FILES], capture_output=True,
                                      text=True, timeout=300)
                self.assertEqual(told.returncode, 0, told.stderr[-2000:])
                rows = [line.split(" ") for line in told.stdout.splitlines()]
                self.assertGreater(len(rows), 100)
                asked = "".join(" ".join(row[:4]) + "\n" for row in rows)
                got = subprocess.run([str(ANSWERS)], input=asked, capture_output=True, text=True, timeout=300, check=True)
                answers = got.stdout.splitlines()
                self.assertEqual(len(answers), len(rows))
                instructions = 0
                for row, answer in zip(rows, answers):
                    self.assertEqual(answer.split(), row[4].split(","), f"form {row[0]}, table {row[3][:200]}")
                    instructions += len(answer.split())
                print(f"    {interpreter}: {len(rows)} code objects, {instructions} places, all equal", file=sys.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
