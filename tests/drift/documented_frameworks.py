# SPDX-License-Identifier: Apache-2.0
"""docs/frameworks.md names every variable of `run --framework-detail` with its value, and the exported allocator classes.
usage: documented_frameworks.py ROOT"""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
page = (root / "docs/frameworks.md").read_text()
rows = re.findall(r'\{"([A-Z][A-Z0-9_]+)", "([^"]+)"\}', (root / "analyzer/cli/framework_detail.cpp").read_text())
problems = [f"docs/frameworks.md lacks `{name}={value}`" for name, value in rows if f"`{name}={value}`" not in page]
if not rows:
    problems.append("analyzer/cli/framework_detail.cpp: no variable was found where this check looks for them")
for space in ("tsl", "tensorflow"):
    exported = f"_ZN{len(space)}{space}12BFCAllocator13DeallocateRawEPv;" in (root / "shim/exports.map").read_text()
    if not exported or f"{space}::BFCAllocator" not in page:
        problems.append(f"{space}::BFCAllocator is not both exported and documented")
print("\n".join(problems) or f"{len(rows)} variables are documented as they are set")
sys.exit(1 if problems else 0)
