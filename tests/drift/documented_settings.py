# SPDX-License-Identifier: Apache-2.0
"""docs/environment.md names every VRAMTRACE_ variable of shim/settings.h with its default, and no other.
usage: documented_settings.py ROOT"""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
table = re.search(r"#define VRAMTRACE_SETTINGS\(X\)(.*?)\n\n", (root / "shim/settings.h").read_text(), re.S)[1]
defined = {m[1]: (m[2], m[3].strip()) for m in re.finditer(r"X\((\w+), (\w+), \w+, ([^,]+),", table)}
page = (root / "docs/environment.md").read_text()
documented = {m[1]: m[2] for m in re.finditer(r"^\| `VRAMTRACE_(\w+)` \| ([^|]*) \|", page, re.M)}


def spelt(kind, value):
    if kind == "Level":
        return f"`{('all', 'driver')[int(value)]}`"
    if kind == "Bytes":
        number, _, shift = value.partition("<<")
        size = int(number.strip("UL ")) << int(shift or 0)
        for unit, power in (("T", 40), ("G", 30), ("M", 20), ("K", 10)):
            if size != 0 and size % (1 << power) == 0:
                return f"`{size >> power}{unit}`"
    return f"`{value.strip(chr(34))}`"


problems = [f"docs/environment.md lacks VRAMTRACE_{name}" for name in defined.keys() - documented.keys()]
problems += [f"docs/environment.md has VRAMTRACE_{name}, shim/settings.h has not" for name in documented.keys() - defined.keys()]
for name in defined.keys() & documented.keys():
    kind, value = defined[name]
    if value != '""' and documented[name] != spelt(kind, value):
        problems.append(f"VRAMTRACE_{name}: default {spelt(kind, value)} in shim/settings.h, {documented[name]} in the page")
if len(defined) < 5:
    problems.append("shim/settings.h: the table was not found where this check looks for it")
print("\n".join(problems) or f"{len(defined)} settings are documented as they are")
sys.exit(1 if problems else 0)
