# SPDX-License-Identifier: Apache-2.0
"""`vramtrace report` on Python programs: one stack of native and Python frames, for every interpreter of this machine."""
import pathlib
import subprocess
import sys
import unittest

from preloaded_run import SIMULATOR, VRAMTRACE, Case, report
from python_versions import interpreters

PROGRAM = pathlib.Path(__file__).resolve().parent.parent / "programs" / "python_callbacks.py"
LIBRARIES = f"{SIMULATOR / 'lib'}:{SIMULATOR}"
SOURCE = PROGRAM.read_text().splitlines()


def line(text):
    """The line of the program that reads `text`, the last one if there are several."""
    return max(number for number, content in enumerate(SOURCE, 1) if content.strip() == text)


ALLOCATE = ("allocate", line("assert cuda.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(size)) == 0"))
FORWARD, CALL = ("forward", line("return allocate(")), ("__call__", line("return self.forward(size)"))
MAIN_STEP, MAIN_SORT = ("<module>", line("step()")), ("<module>", line("sort()"))
LAYER, GENERATOR = ("step", line("Layer()(1 << 20)")), ("step", line("list(generate(2 << 20))"))
SORT = ("sort", line("library.qsort(two, 2, 4, COMPARE(compare))"))
COMPARED = ("compare", line("Layer()(3 << 20)"))
WANTED = {  # by size: the program's own frames; "" = native frames in between
    1 << 20: [ALLOCATE, FORWARD, CALL, LAYER, MAIN_STEP],
    2 << 20: [ALLOCATE, ("generate", line("yield allocate(size)")), GENERATOR, MAIN_STEP],
    3 << 20: [ALLOCATE, FORWARD, CALL, COMPARED, "qsort", SORT, MAIN_SORT],
}


def own_frames(row):
    """What the program's stack looks like, Python names unqualified, with "qsort" for native frames in its midst."""
    frames = [f for f in row["stack"] if not (f["python"] and f["library"])]
    text, begun = [], False
    for frame in frames:
        begun = begun or frame["python"]
        if frame["python"]:
            text.append((frame["function"].rpartition(".")[2], frame["line"]))
        elif begun and text[-1] != "qsort":
            text.append("qsort")
    return text


def is_interpreters(frame):
    file = pathlib.Path(frame["module"]).name
    return not frame["python"] and file.startswith(("python3", "libpython3"))


class PythonReport(Case):
    def rows(self, *options):
        return report(self.trace, "-n", "100", *options)["processes"][0]["leaks"]["rows"]

    def check_interpreter(self, interpreter):
        self.trace = self.directory / f"trace-{interpreter.text}"
        result = self.run_preloaded([interpreter.command, PROGRAM], LD_LIBRARY_PATH=LIBRARIES,
                                    PYTHONDONTWRITEBYTECODE=1)
        self.assertEqual(result.returncode, 0, result.stderr[-2000:])
        rows = self.rows()
        main = {row["largest_bytes"]: row for row in rows if row["stack"][-1]["function"] == "<module>"}
        self.assertEqual(sorted(main), sorted(WANTED))
        native = self.rows("--native")
        # Of a stripped interpreter not every evaluation has a name: then a place between two runs is a guess, and said so.
        nameless = any(not f["function"] and is_interpreters(f) for row in native for f in row["stack"])
        for size, row in main.items():
            guessed = row["stack_merge_guessed"]
            self.assertFalse(guessed and ("qsort" not in WANTED[size] or not nameless), "a guess without need")
            keep = lambda frames: [frame for frame in frames if not guessed or frame != "qsort"]
            self.assertEqual(keep(own_frames(row)), keep(WANTED[size]))
        for row in rows:
            self.assertEqual((row["title"], row["place"]), ("allocate", f"{PROGRAM.name}:{ALLOCATE[1]}"))
            self.assertEqual([f for f in row["stack"] if is_interpreters(f)], [])
            self.assertIn("cudaMalloc", [f["function"] for f in row["stack"] if not f["python"]])
        # The thread's begin in the library's bootstrap.
        self.assertEqual(len(rows), 5)
        self.assertEqual(sum(row["stack"][-1]["function"].endswith("_bootstrap") for row in rows), 2)
        for row in self.rows("--python"):
            self.assertTrue(all(f["python"] for f in row["stack"]))
        for row in native:
            self.assertFalse(any(f["python"] for f in row["stack"]))
            if not nameless:
                self.assertIn("_PyEval_EvalFrameDefault", [f["function"].split(".")[0] for f in row["stack"]])

        return nameless

    def test_merged_stacks(self):
        tested = [i for i in interpreters() if i.frames_are_read]
        self.assertTrue(tested, "no interpreter here that could be tested")
        for interpreter in tested:
            with self.subTest(str(interpreter)):
                nameless = self.check_interpreter(interpreter)
                print(f"    {interpreter}: as the program says{', stripped' if nameless else ''}", file=sys.stderr)

    def test_names_are_kept_for_both_kinds(self):
        interpreter = [i for i in interpreters() if i.frames_are_read][-1]
        self.run_preloaded([interpreter.command, PROGRAM], LD_LIBRARY_PATH=LIBRARIES, PYTHONDONTWRITEBYTECODE=1)
        looked_up = self.rows()
        subprocess.run([VRAMTRACE, "symbolize", self.trace], check=True, capture_output=True, timeout=120)
        self.assertNotIn('"path": "[', (self.trace / "symbols.json").read_text(), "Python frames are no module")
        kept = self.rows("--no-symbols")
        self.assertEqual([row["stack"] for row in kept], [row["stack"] for row in looked_up])

    def test_one_kind_or_the_other(self):
        both = subprocess.run([VRAMTRACE, "report", "--native", "--python", self.directory], capture_output=True)
        self.assertNotEqual(both.returncode, 0)
        self.assertIn(b"--native", both.stderr + both.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
