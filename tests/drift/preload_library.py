# SPDX-License-Identifier: Apache-2.0
"""What libvramtrace.so promises to every process it is loaded into: preload_library.py SOURCE LIBRARY

  - exports exactly the rows of the hook tables and the loader functions of exports.map, without versions
  - needs libc.so.6 and nothing else; no undefined cu*/cuda* symbol; no glibc symbol newer than 2.34
  - runs nothing when it is loaded or unloaded; small static TLS; no text relocations, no executable stack
"""
import pathlib
import re
import subprocess
import sys

LOADER = {"dlclose", "dlmopen", "dlopen", "dlsym", "dlvsym"}
NEWEST_GLIBC = (2, 34)
MOST_TLS = 512  # bytes: static TLS is scarce, and a library loaded later may need it


def tool(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def rows(path, macro):
    return set(re.findall(rf"^{macro}\((\w+)", path.read_text(), re.M))


def main():
    source, library = pathlib.Path(sys.argv[1]), sys.argv[2]
    hooks = source / "shim/hooks"
    problems = []

    exported = {}
    for line in tool("nm", "-D", "--defined-only", library).splitlines():
        kind, name = line.split()[-2:]
        exported[name] = kind
    extra = {n for n in exported if n not in LOADER and not re.match(r"cu[A-Z]|cuda[A-Z]", n)}
    expected = LOADER | rows(hooks / "driver_functions.def", "DRIVER") | rows(hooks / "runtime_functions.def", "RUNTIME")
    # Frameworks and the public header export names of their own; exports.map is the list of those.
    listed = (source / "shim/exports.map").read_text()
    named = set(re.findall(r"^\s*(\w+);", listed, re.M))
    problems += [f"does not export {n}, which exports.map lists" for n in sorted(named - set(exported))]
    extra = {n for n in extra if not re.search(rf"^\s*{re.escape(n)};", listed, re.M)}
    problems += [f"exports {n}, which no table lists" for n in sorted(extra)]
    cuda = {n for n in exported if re.match(r"cu[A-Z]|cuda[A-Z]", n)}
    problems += [f"does not export {n}" for n in sorted(expected - set(exported))]
    problems += [f"exports {n}, which has no row" for n in sorted(cuda - expected)]
    problems += [f"{n} is exported as '{k}', not as a function" for n, k in exported.items() if k not in "TW"]
    problems += [f"{n} is exported with a version" for n in exported if "@" in n]

    dynamic = tool("readelf", "-dW", library)
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
    if needed != ["libc.so.6"]:
        problems.append(f"needs {needed}, not libc.so.6 alone")
    for tag in ("INIT", "FINI", "INIT_ARRAY", "FINI_ARRAY", "PREINIT_ARRAY", "TEXTREL", "RPATH", "RUNPATH"):
        if re.search(rf"\({tag}\)", dynamic):
            problems.append(f"has a dynamic entry {tag}")
    if re.search(r"SYMBOLIC", dynamic):
        problems.append("is linked -Bsymbolic: its tables would not name what it exports")

    for line in tool("nm", "-D", "--undefined-only", library).splitlines():
        symbol = line.split()[-1]
        if re.match(r"cu[A-Z]|cuda[A-Z]", symbol):
            problems.append(f"needs the CUDA symbol {symbol}")
        version = re.search(r"@GLIBC_(\d+)\.(\d+)", symbol)
        if version and (int(version[1]), int(version[2])) > NEWEST_GLIBC:
            problems.append(f"needs {symbol}, newer than glibc {'.'.join(map(str, NEWEST_GLIBC))}")
        if symbol.split("@")[0] in ("_dl_find_object", "__tls_get_addr", "__cxa_atexit", "pthread_create", "dlopen"):
            problems.append(f"needs {symbol}")

    segments = tool("readelf", "-lW", library)
    stack = re.search(r"GNU_STACK.*", segments)
    if stack and " RWE" in stack[0]:
        problems.append("wants an executable stack")
    tls = re.search(r"^\s*TLS\s+\S+\s+\S+\s+\S+\s+\S+\s+(0x[0-9a-f]+)", segments, re.M)
    if tls and int(tls[1], 16) > MOST_TLS:
        problems.append(f"takes {int(tls[1], 16)} bytes of static TLS")
    for section in (".init_array", ".ctors", ".init", ".fini_array"):
        if re.search(rf"\]\s+{re.escape(section)}\s", tool("readelf", "-SW", library)):
            problems.append(f"has a section {section}")

    print("\n".join(problems) or f"{library}: {len(exported)} exports, as promised")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
