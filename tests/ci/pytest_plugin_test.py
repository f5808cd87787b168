# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin: real pytest runs with the preload and without."""
import subprocess
import unittest
import xml.etree.ElementTree as xml

from ci_tools import JOB, PACKAGE, TOOLS, need_tools
from preloaded_run import Case, preloaded_environment, simulated_environment

SUITE = '''
import pytest
from gate_job import allocate, free
kept = []

@pytest.fixture
def held():
    mine = []
    yield mine
    for memory in mine:
        free(memory)

@pytest.mark.vramtrace(leak="0 B")
def test_leaks():
    kept.append(allocate(3000))

@pytest.mark.vramtrace(leak="0 B", peak="1 MiB", growth="0 B")
def test_clean():
    free(allocate(5000))

@pytest.mark.vramtrace(peak="6 KiB")
def test_high():
    free(allocate(20000))

@pytest.mark.vramtrace(leak=0)
def test_fixture_frees(held):
    held.append(allocate(700))

@pytest.mark.vramtrace(leak="2 KiB")
@pytest.mark.parametrize("size", [1000, 5000], ids=["a*[b]", "c/d"])
def test_limits(size):
    kept.append(allocate(size))

@pytest.mark.vramtrace
def test_idle():
    pass

@pytest.mark.vramtrace(leak=0)
def test_own_failure():
    kept.append(allocate(10))
    assert False, "its own"

@pytest.mark.vramtrace(leak=0)
@pytest.mark.skip
def test_skipped():
    pass

def test_unmarked():
    kept.append(allocate(100))
'''


class Plugin(Case):
    def pytest(self, *options, preload=True, suite=SUITE, file="test_gpu.py"):
        path = self.directory / file
        path.parent.mkdir(exist_ok=True)
        path.write_text(suite)
        extra = {"PYTHONPATH": f"{PACKAGE}:{JOB.parent}"}
        environment = preloaded_environment(self.trace, **extra) if preload else simulated_environment(**extra)
        done = subprocess.run([str(o) for o in (TOOLS / "python", "-m", "pytest", "-p", "vramtrace.pytest_plugin",
                                                "-p", "no:cacheprovider", "--junitxml=r.xml", *options)],
                              env=environment, cwd=self.directory, capture_output=True, text=True, timeout=300)
        results = {}
        if (self.directory / "r.xml").exists():
            for case in xml.parse(self.directory / "r.xml").iter("testcase"):
                bad = case.find("failure") if case.find("failure") is not None else case.find("error")
                skipped = "skipped" if case.find("skipped") is not None else None
                results[case.get("name")] = bad.text if bad is not None else skipped
        return done, results

    def test_judged(self):
        done, results = self.pytest()
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("FAILED  leaked-bytes: 2.92 KiB (3,000 bytes) in 1 allocation", results["test_leaks"])
        self.assertIn("FAILED  peak", results["test_high"])
        self.assertIn("(5,000 bytes)", results["test_limits[c/d]"])
        self.assertIn("no CUDA allocation was recorded in phase", results["test_idle"])
        self.assertIn("its own", results["test_own_failure"])
        self.assertNotIn("GATE", results["test_own_failure"])
        for name in ("test_clean", "test_fixture_frees", "test_limits[a*[b]]", "test_unmarked"):
            self.assertIsNone(results[name], name)
        self.assertEqual(results["test_skipped"], "skipped")
        self.assertIn("FAILED test_gpu.py::test_leaks", done.stdout)
        self.assertIn("5 failed, 4 passed, 1 skipped", done.stdout)

    def test_without_the_preload(self):
        done, results = self.pytest("-k", "clean or unmarked", preload=False)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("vramtrace is not preloaded: cannot judge", results["test_clean"])
        self.assertIsNone(results["test_unmarked"])
        done, results = self.pytest("-k", "clean or unmarked", "--vramtrace-optional", preload=False)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_all_kept(self):
        done, _ = self.pytest("-k", "clean or fixture")
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_a_misspelt_limit(self):
        done, _ = self.pytest(suite="import pytest\n@pytest.mark.vramtrace(laek=0)\ndef test_a(): pass\n")
        self.assertEqual(done.returncode, 4, done.stdout)
        self.assertIn("laek not known", done.stdout + done.stderr)

    def test_the_same_name_in_another_folder(self):
        leak = "import pytest\nfrom gate_job import allocate\n@pytest.mark.vramtrace(leak=0)\ndef test_a(): allocate(9)\n"
        clean = leak.replace("allocate(9)", "free(allocate(9))").replace("import allocate", "import allocate, free")
        (self.directory / "test_same.py").write_text(clean)
        done, _ = self.pytest("--import-mode=importlib", suite=leak, file="sub/test_same.py")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("1 failed, 1 passed", done.stdout)


if __name__ == "__main__":
    need_tools()
    unittest.main()
