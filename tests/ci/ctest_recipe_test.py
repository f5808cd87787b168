# SPDX-License-Identifier: Apache-2.0
"""The CTest recipe of docs/ci.md in a real project."""
import pathlib
import shutil
import subprocess
import unittest
import xml.etree.ElementTree as xml

from ci_tools import fenced
from preloaded_run import VRAMTRACE, Case, simulated_environment


class Recipe(Case):
    def test_verdicts(self):
        project = self.directory / "project"
        shutil.copytree(pathlib.Path(__file__).parent / "ctest_recipe", project)
        (project / "vramtrace_test.cmake").write_text(fenced("ci.md", "cmake", "function(vramtrace_add_test"))
        build = self.directory / "build"
        environment = simulated_environment()
        for command in (["cmake", "-S", project, "-B", build, f"-DVRAMTRACE_PROGRAM={VRAMTRACE}"],
                        ["cmake", "--build", build]):
            done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for _ in range(2):  # a trace of the last time is in nobody's way
            done = subprocess.run(["ctest", "--output-junit", self.directory / "r.xml"], cwd=build, env=environment,
                                  capture_output=True, text=True, timeout=300)
            self.assertNotEqual(done.returncode, 0)
            cases = {case.get("name"): (case.get("status"), case.findtext("system-out") or "")
                     for case in xml.parse(self.directory / "r.xml").iter("testcase")}
            self.assertEqual({name: status for name, (status, _) in cases.items()},
                             {"clean": "run", "leaks": "fail", "within_limits": "run", "no_memory": "fail"}, cases)
            self.assertIn("GATE: gate failed: leaked-bytes", cases["leaks"][1])
            self.assertIn("cannot judge", cases["no_memory"][1])


if __name__ == "__main__":
    unittest.main()
