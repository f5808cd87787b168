# SPDX-License-Identifier: Apache-2.0
"""The hook tables against the CUDA headers at hand: hook_tables.py SOURCE CUDA_INCLUDE COMPILER

A function of the driver whose name says that something is made, moved or ended (see DEEDS) must be a row of
driver_functions.def, a row of driver_passed.def, or match a line of unrelated_functions.txt with a reason. A newer
header's new allocation function therefore fails here until somebody has decided what it means.
"""
import pathlib
import re
import subprocess
import sys

DEEDS = re.compile("Alloc|Free|Create|Destroy|Release|Retain|Reset|Import|Export|Map|Reserve|Bind|Unbind|Trim|Register|"
                   "Unregister|Load|Unload|Open|Close|Instantiate|Launch|Capture|Attach|Detach|Set.*Pool|Add.*Node|Clone|"
                   "GetProcAddress|GetGlobal|GetManaged|SetLimit|FromGreen|Mem")
# Rows for functions that these headers need not declare: headers of other packages, newer drivers.
ELSEWHERE = {"cuGLCtxCreate", "cuGLCtxCreate_v2", "cuVDPAUCtxCreate", "cuVDPAUCtxCreate_v2", "cuMulticastBindMem_v2",
             "cuMulticastBindAddr_v2", "cudaGraphAddNode_v2"}
RUNTIME_DEEDS = re.compile(r"^cuda(Malloc|Free|HostAlloc|HostRegister|HostUnregister|GraphAddMem(Alloc|Free)Node$)")


def rows(path, macro):
    return re.findall(rf"^{macro}\((\w+)", path.read_text(), re.M)


def declared(compiler, include, header, before, pattern):
    source = f"{before}\n#include <{header}>\n"
    result = subprocess.run([compiler, "-E", "-P", "-x", "c", f"-I{include}", "-"], input=source, text=True,
                            capture_output=True, check=True)
    return set(re.findall(pattern, result.stdout))


def main():
    source, include, compiler = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    hooks = source / "shim/hooks"
    driver, passed = rows(hooks / "driver_functions.def", "DRIVER"), rows(hooks / "driver_passed.def", "DRIVER_PASSED")
    runtime = rows(hooks / "runtime_functions.def", "RUNTIME")
    unrelated = []
    for line in (source / "tests/drift/unrelated_functions.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            pattern, _, reason = line.partition(" ")
            unrelated.append((re.compile(pattern + "$"), reason.strip()))
    problems = []

    for name in {n for n in driver + passed + runtime if (driver + passed + runtime).count(n) > 1}:
        problems.append(f"{name} has two rows")
    problems += [f"unrelated_functions.txt: no reason given for {p.pattern}" for p, reason in unrelated if not reason]

    # All ABI versions, and the per-thread twins.
    in_driver = declared(compiler, include, "cuda.h", "#define __CUDA_API_VERSION_INTERNAL 1", r"\b(cu[A-Z]\w*)\s*\(")
    in_runtime = declared(compiler, include, "cuda_runtime_api.h", "", r"\b(cuda[A-Z]\w*)\s*\(")
    if len(in_driver) < 400 or len(in_runtime) < 250:
        problems.append(f"the headers were not understood: {len(in_driver)} and {len(in_runtime)} functions")

    known = set(driver) | set(passed)
    used = set()
    for name in sorted(in_driver - known):
        if not DEEDS.search(name):
            continue
        matches = [p.pattern for p, _ in unrelated if p.match(name)]
        used.update(matches)
        if not matches:
            problems.append(f"{name} is in cuda.h and in no table: add a row to driver_functions.def (or "
                            "driver_passed.def, or unrelated_functions.txt with a reason)")
    problems += [f"unrelated_functions.txt: nothing matches {p.pattern}" for p, _ in unrelated if p.pattern not in used]
    problems += [f"{name} has a row and is not in cuda.h" for name in sorted(known - in_driver - ELSEWHERE)]
    for name in sorted(in_runtime - set(runtime)):
        if RUNTIME_DEEDS.match(name):
            problems.append(f"{name} is in cuda_runtime_api.h and not in runtime_functions.def")
    twins = {n for n in runtime if n.endswith("_ptsz")}
    for name in sorted(set(runtime) - twins - in_runtime - ELSEWHERE):
        problems.append(f"{name} has a row and is not in cuda_runtime_api.h")
    problems += [f"{n} has a row, its plain twin has none" for n in sorted(twins) if n[:-5] not in runtime]
    # A wrapped function's other versions are wrapped too, or passed by on purpose.
    for name in sorted(in_driver - known):
        base = re.sub(r"(_v\d+)?(_ptsz|_ptds)?$", "", name)
        if base in driver:
            problems.append(f"{name} is another version of a wrapped function and has no row")

    print("\n".join(problems) or f"{len(driver)} driver rows, {len(passed)} passed, {len(runtime)} runtime rows: all known")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
