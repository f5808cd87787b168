# SPDX-License-Identifier: Apache-2.0
"""What the tests of this folder share."""
import pathlib
import subprocess
import sys

from preloaded_run import VRAMTRACE

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = SOURCE / "shim" / "api" / "python"
JOB = pathlib.Path(__file__).resolve().parent / "gate_job.py"
TOOLS = SOURCE / ".venv-ci-tools" / "bin"


def need_tools():
    """Ends the program as skipped where scripts/install_dependencies.sh --with-ci-tools was not run."""
    if not (TOOLS.parent / "installed").exists():
        print("skipped: no .venv-ci-tools/")
        sys.exit(77)


def check(*options, cwd=None):
    return subprocess.run([str(o) for o in (VRAMTRACE, "check", *options)], capture_output=True, text=True,
                          timeout=300, cwd=cwd)


def fenced(page, language, holding):
    """The block of this language in a page of docs/ that holds the text."""
    found = []
    for part in (SOURCE / "docs" / page).read_text().split("```" + language + "\n")[1:]:
        block = part.split("\n```")[0] + "\n"
        if holding in block:
            found.append(block)
    assert len(found) == 1, (page, language, holding, len(found))
    return found[0]
