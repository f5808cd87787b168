# SPDX-License-Identifier: Apache-2.0
"""The Python interpreters of this machine: on PATH, of pyenv, and those that VRAMTRACE_TEST_PYTHONS names (colons between)."""
import json
import os
import pathlib
import subprocess

DESCRIBE = ("import sys, sysconfig, json; print(json.dumps({'version': sys.version_info[:3], 'executable': "
            "sys.executable, 'name': sys.implementation.name, 'prefix': sys.prefix, "
            "'library': '/'.join(map(str, sysconfig.get_config_vars('LIBDIR', 'INSTSONAME'))), "
            "'free_threaded': bool(sysconfig.get_config_var('Py_GIL_DISABLED'))}))")
FIRST, LAST = (3, 8), (3, 14)


class Interpreter:
    def __init__(self, command, facts):
        self.command = str(command)
        self.version = tuple(facts["version"])
        self.text = ".".join(map(str, self.version))
        self.name = facts["name"]
        self.executable = facts["executable"]
        self.free_threaded = facts["free_threaded"]
        self.prefix = facts["prefix"]
        self.library = facts["library"] if ".so" in facts["library"] and os.path.exists(facts["library"]) else None

    @property
    def frames_are_read(self):
        return self.name == "cpython" and FIRST <= self.version[:2] <= LAST and not self.free_threaded

    def __str__(self):
        return f"{self.name} {self.text}{' free-threaded' if self.free_threaded else ''} ({self.command})"


def _candidates():
    yield from filter(None, os.environ.get("VRAMTRACE_TEST_PYTHONS", "").split(":"))
    for folder in os.environ.get("PATH", "").split(":"):
        yield from sorted(str(path) for path in pathlib.Path(folder or ".").glob("python3*")
                          if path.name.replace("python3", "").replace(".", "").rstrip("t").isdigit()
                          or path.name == "python3")
    root = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv"))
    yield from sorted(str(path) for path in root.glob("versions/*/bin/python"))


def interpreters():
    """One of each version and executable, oldest first."""
    found = {}
    for command in _candidates():
        try:
            result = subprocess.run([command, "-c", DESCRIBE], capture_output=True, text=True, timeout=30)
            facts = json.loads(result.stdout)
        except (OSError, ValueError, subprocess.TimeoutExpired):
            continue
        interpreter = Interpreter(command, facts)
        found.setdefault((interpreter.version, os.path.realpath(interpreter.executable)), interpreter)
    return [found[key] for key in sorted(found)]
