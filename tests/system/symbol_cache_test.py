# SPDX-License-Identifier: Apache-2.0
"""Names of a job's program are there for the next trace, also when the program is not, and only if that is wanted."""
import json
import shutil
import subprocess
import unittest

from preloaded_run import PROGRAMS, VRAMTRACE, Case, simulated_environment


class SymbolCache(Case):
    def setUp(self):
        super().setUp()
        self.program = self.directory / "job"
        shutil.copy(PROGRAMS / "quickstart_leak", self.program)
        self.cache = self.directory / "cache"

    def vramtrace(self, *words, cache=None):
        result = subprocess.run([VRAMTRACE, *map(str, words)], capture_output=True, text=True, timeout=120,
                                cwd=self.directory, env=simulated_environment(XDG_CACHE_HOME=cache or self.cache))
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def functions(self, *options, cache=None):
        """Names of the program's own functions in the report, looked up anew."""
        (self.trace / "symbols.json").unlink(missing_ok=True)
        report = self.vramtrace("report", "--json", "--by", "function", *options, self.trace, cache=cache)
        own = ("backward_pass", "forward_pass", "load_batch", "main")
        return {name for name in own if f'"{name}' in report.stdout}, report

    def record(self, *options):
        self.vramtrace("run", *options, "-o", self.trace, "--", self.program)

    def test_the_program_may_go(self):
        self.record()
        files = list((self.cache / "vramtrace" / "symbols").glob("*.json"))
        self.assertTrue(files)
        for file in files:
            self.assertEqual(json.loads(file.read_text())["build_id"], file.stem)
        before, _ = self.functions("--no-symbol-cache")
        self.assertTrue(before)
        self.program.unlink()
        after, report = self.functions()
        self.assertEqual(after, before)
        self.assertNotIn("job", " ".join(json.loads(report.stdout)["symbol_problems"]))
        without, report = self.functions("--no-symbol-cache")
        self.assertEqual(without, set())
        self.assertIn("the file is not there any more", " ".join(json.loads(report.stdout)["symbol_problems"]))

    def test_without(self):
        self.record("--no-symbol-cache")
        for command in ("report", "symbolize", "check"):
            options = ["--leaked-bytes", "1T"] if command == "check" else []
            (self.trace / "symbols.json").unlink()
            self.vramtrace(command, "--no-symbol-cache", *options, self.trace)
            self.vramtrace("symbolize", "--no-symbol-cache", self.trace)
        self.assertFalse(self.cache.exists())

    def test_a_cache_that_cannot_be_is_silent(self):
        self.record("--no-symbol-cache")
        names, report = self.functions(cache="/dev/null")
        self.assertTrue(names)
        self.assertEqual(report.stderr, "")
        (self.trace / "symbols.json").unlink(missing_ok=True)
        self.assertIn("symbol cache", self.vramtrace("-v", "report", self.trace, cache="/dev/null").stderr)


if __name__ == "__main__":
    unittest.main()
