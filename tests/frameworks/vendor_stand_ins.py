# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for the CUDA libraries that PyTorch's own are linked with: vendor_stand_ins.py TORCH_LIB_FOLDER OUTPUT_FOLDER CC

PyTorch's CUDA build does not load without cuBLAS, cuDNN, NCCL and the like: 2 GB of wheels, of which element-wise work on
the simulated CUDA uses nothing. So one small library answers to all their names. It defines exactly the functions that
PyTorch's libraries leave undefined and that neither they nor the simulated CUDA define, under the symbol versions that are
asked for, and each of them fails: it returns 1, which is an error in all of these libraries, or, where a text is
returned, a text. A job that needs one of them gets an error.

Only cuBLAS succeeds (cublasLt does not): it computes nothing, as the kernels of the simulated CUDA compute nothing, so
that layers with matrix products can be trained as far as memory goes.
"""
import pathlib
import re
import subprocess
import sys

# Whose functions these are, by their first letters.
PREFIXES = re.compile(r"(cublas|cublasLt|cudnn|cufft|cuFile|curand|cusolver|cusparse|cusparseLt|cupti|nccl|nvrtc|nvtx|nvshmemi?x?_?)"
                      r"[A-Za-z_]")
TEXTS = re.compile(r"(ErrorString|GetString|StatusName|StatusString|LastError|ResultString)$")
SONAMES = re.compile(r"lib(cublas|cublasLt|cudnn|cufft|cufile|curand|cusolver|cusparse|cusparseLt|cupti|nccl|nvrtc|"
                     r"nvToolsExt|nvshmem_host)\.so\.\d+$")


SUCCEEDS = re.compile(r"cublas(?!Lt)")


def body(name):
    if name == "cuptiGetResultString":  # (result, text*)
        return "    leaq text(%rip), %rax\n    movq %rax, (%rsi)\n    movl $1, %eax\n"
    if TEXTS.search(name):
        return "    leaq text(%rip), %rax\n"
    handle = "    leaq text(%rip), %rax\n    movq %rax, (%rdi)\n" if name == "cublasCreate_v2" else ""
    return handle + ("    xorl %eax, %eax\n" if SUCCEEDS.match(name) else "    movl $1, %eax\n")


def symbols(library, which):
    lines = subprocess.run(["nm", "-D", "--with-symbol-versions", which, library], capture_output=True, text=True,
                           check=True).stdout.splitlines()
    for line in lines:
        name, _, version = line.split()[-1].partition("@")
        yield name, version.lstrip("@")


def main():
    torch, output, compiler = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
    libraries = sorted(torch.glob("*.so"))
    defined = {name for library in libraries for name, _ in symbols(library, "--defined-only")}
    wanted, sonames = {}, set()
    for library in libraries:
        for name, version in symbols(library, "--undefined-only"):
            if PREFIXES.match(name) and name not in defined:
                wanted[name] = version
        dynamic = subprocess.run(["readelf", "-dW", library], capture_output=True, text=True, check=True).stdout
        sonames |= {n for n in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic) if SONAMES.match(n)}
    if not wanted or not sonames:
        sys.exit(f"no library of PyTorch's CUDA build in {torch}")

    output.mkdir(parents=True, exist_ok=True)
    source, script = output / "stand_ins.S", output / "stand_ins.map"
    with source.open("w") as file:
        file.write("    .text\n")
        for name in sorted(wanted):
            file.write(f"    .globl {name}\n    .type {name}, @function\n{name}:\n{body(name)}    ret\n")
        file.write('text: .asciz "not there: a stand-in"\n    .section .note.GNU-stack, "", @progbits\n')
    with script.open("w") as file:
        for version in sorted(set(wanted.values()) - {""}):
            names = "".join(f"        {n};\n" for n, v in sorted(wanted.items()) if v == version)
            file.write(f"{version} {{\n    global:\n{names}}};\n")
    library = output / "libvendor_stand_ins.so"
    subprocess.run([compiler, "-shared", "-nostdlib", "-o", library, source, f"-Wl,--version-script={script}",
                    "-Wl,-soname,libvendor_stand_ins.so"], check=True)
    for soname in sonames:
        link = output / soname
        link.unlink(missing_ok=True)
        link.symlink_to(library.name)
    print(f"{len(wanted)} functions of {len(sonames)} libraries")
    return 0


if __name__ == "__main__":
    sys.exit(main())
