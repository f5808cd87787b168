# SPDX-License-Identifier: Apache-2.0
"""Which room may include which: include_rules.py SOURCE

The rooms and their arrows are described in docs/architecture.md; each rule here is one sentence of it. Source files of
the repository only; comments do not count.
"""
import pathlib
import re
import sys

ROOMS = ("trace", "shim", "analyzer", "simulator")
SUFFIXES = {".h", ".cpp", ".S", ".def", ".c"}

# (files, forbidden includes, the sentence). Both are regular expressions on paths from the root.
NEVER = [
    (r"trace/", r"(shim|analyzer|simulator)/", "trace/ includes nothing of the others"),
    (r"trace/(\w+\.h|ring/)", r"zstd\.h|iostream|trace/container/", "trace/*.h and trace/ring/ know no zstd and no iostream"),
    (r"shim/", r"(analyzer|simulator|trace/container)/|Python\.h|zstd\.h",
     "shim/ includes no trace/container/, no analyzer/, no Python.h"),
    (r"shim/", r"cu\w*\.h|driver_types\.h", "shim/ has CUDA's types in its own words"),
    (r"shim/", r"iostream|string|vector|map|memory|functional|mutex|thread|new|stdexcept|algorithm|optional|unordered_map",
     "no C++ runtime in shim/"),
    (r"shim/(?!record/)", r"trace/ring/ring_writer\.h", "only record/ writes into the ring"),
    (r"shim/hooks/effects/", r"shim/hooks/wrapper\.h", "effects never call wrappers"),
    (r"shim/(capture|real)/", r"shim/(hooks|record|frameworks|api)/", "capture/ and real/ know neither hooks/ nor record/"),
    (r"shim/real/", r"shim/capture/", "real/ stands alone"),
    (r"shim/frameworks/", r"shim/(hooks|capture|api)/", "frameworks/ know record/ and real/"),
    (r"shim/record/", r"shim/(hooks|frameworks|api)/", "record/ knows no hooks"),
    (r"analyzer/", r"(shim|simulator)/|cu\w*\.h", "analyzer/ includes nothing of shim/ or simulator/, no CUDA header"),
    (r"simulator/", r"(trace|shim|analyzer)/", "simulator/ and the rest share no header"),
    (r"(trace|shim|analyzer)/", r"simulator/ledger\.h", "only tests include the ledger"),
    (r"analyzer/replay/", r"analyzer/(symbolize|input|verdict|report)/", "replay/ knows no symbol and no file"),
    (r"analyzer/accounts/", r"analyzer/(verdict|report|symbolize)/", "accounts/ knows no verdict"),
    (r"analyzer/collect/", r"analyzer/(symbolize|verdict|report|cli)/", "collect/ stays small"),
    (r"analyzer/verdict/", r"analyzer/(report|export|gate|diff|input|symbolize|cli)/", "verdict/ knows no view and no file"),
    (r"analyzer/report/", r"analyzer/(export|gate|diff|input|cli)/", "views never include each other, nor input/"),
    (r"analyzer/export/", r"analyzer/(report|gate|diff|input|symbolize|cli)/", "views never include each other"),
    (r"analyzer/gate/", r"analyzer/(report|export|diff|input|symbolize|cli)/", "views never include each other"),
    (r"analyzer/diff/", r"analyzer/(report|export|gate|input|symbolize|cli)/", "views never include each other"),
    (r"analyzer/print/", r"(trace|shim|analyzer/(?!print/)|simulator)\w*/", "print/ includes nothing of ours"),
    (r"(?!analyzer/cli/|tests/)", r"analyzer/cli/", "nobody includes cli/"),
]


def includes(path):
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", path.read_text(errors="replace"), flags=re.S)
    return re.findall(r'^\s*#\s*include\s*[<"]([^">]+)[">]', text, re.M)


def main():
    root = pathlib.Path(sys.argv[1])
    problems, files = [], 0
    for room in ROOMS:
        for path in sorted((root / room).rglob("*")):
            if path.suffix not in SUFFIXES:
                continue
            files += 1
            name = path.relative_to(root).as_posix()
            for included in includes(path):
                own = included.startswith(tuple(f"{r}/" for r in ROOMS + ("tests",)))
                for where, what, sentence in NEVER:
                    # Ours are matched from the root on, others by their whole name.
                    matches = re.match if own else re.fullmatch
                    if re.match(where, name) and matches(what, included):
                        problems.append(f'{name} includes "{included}": {sentence}')
    if files < 20:
        problems.append(f"only {files} source files found below {root}")
    print("\n".join(problems) or f"{files} files keep the rules")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
