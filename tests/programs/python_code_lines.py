# SPDX-License-Identifier: Apache-2.0
"""Prints line tables of the interpreter that runs this, with its own answer for every instruction:

FORM FIRST_LINE END TABLE LINE,LINE,…   (FORM as in trace/definition.h, LINE 0 = none; one code object a line)

Runs on every Python from 3.8 on. The code is the standard library's, and pieces that are rare in it.
"""
import dis
import os
import sys
import types

RARE = [
    "def f(x):\n" + "\n" * 300 + "    return x\n",                                    # line deltas beyond a byte
    "def f(x):\n    return (x" + "\n+ x" * 200 + "\n)\n",                             # every operand on its line
    "def f():\n    x = [" + "1, " * 2000 + "]\n    return x\n",                       # byte deltas beyond a byte
    "def f(x):\n    return g(\n        1,\n        x if x else\n        2,\n    )\n",   # lines that go back
    "async def f(x):\n    async with x as y:\n        async for z in y:\n            yield z\n",
    "def f():\n    try:\n        g()\n    except ValueError as e:\n        raise\n    finally:\n        h()\n",
    "class A(B):\n    'text'\n    x: int = 3\n    @property\n    def y(self): return [i for i in self if i]\n",
    "x = 1\n" * 3000,
    "lambda: (yield)\n",
    "",
]


def codes(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes(constant)


def table_of(code):
    if sys.version_info < (3, 10):
        return 1, code.co_lnotab
    return (2 if sys.version_info < (3, 11) else 3), code.co_linetable


def lines_of(code):
    """The interpreter's answer at every second byte."""
    end = len(code.co_code)
    lines = [0] * (end // 2)
    if hasattr(code, "co_lines"):
        for first, last, line in code.co_lines():
            for offset in range(first, min(last, end), 2):
                lines[offset // 2] = line or 0
        return lines
    line, starts = code.co_firstlineno, dict(dis.findlinestarts(code))
    for offset in range(0, end, 2):
        line = starts.get(offset, line)
        lines[offset // 2] = line
    return lines


def sources():
    yield from RARE
    library = os.path.dirname(os.__file__)
    for name in sorted(os.listdir(library))[:int(sys.argv[1])]:
        if name.endswith(".py"):
            with open(os.path.join(library, name), "rb") as file:
                yield file.read()


for source in sources():
    for code in codes(compile(source, "<test>", "exec")):
        form, table = table_of(code)
        print(form, code.co_firstlineno, len(code.co_code), table.hex() or "-", ",".join(map(str, lines_of(code))))
