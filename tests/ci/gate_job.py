# SPDX-License-Identifier: Apache-2.0
"""A job with GPU memory from the runtime by ctypes: gate_job.py [WORD…]

    leaky   a region "leaky" that leaves 3000 bytes
    clean   a region "clean" that frees what it allocates
    idle    a region "idle" without GPU memory
    wait    prints "ready" and waits for a line on standard input
    begin   begins a region "open" and never ends it
"""
import ctypes
import sys

import vramtrace

cuda = ctypes.CDLL("libcudart.so.13")


def allocate(size):
    memory = ctypes.c_void_p()
    assert cuda.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(size)) == 0
    return memory


def free(memory):
    assert cuda.cudaFree(memory) == 0


def main():
    free(allocate(100))
    for word in sys.argv[1:]:
        if word == "leaky":
            with vramtrace.region("leaky"):
                allocate(3000)
        elif word == "clean":
            with vramtrace.region("clean"):
                free(allocate(5000))
        elif word == "idle":
            with vramtrace.region("idle"):
                pass
        elif word == "begin":
            vramtrace.region("open").__enter__()
            free(allocate(10))
        elif word == "wait":
            print("ready", flush=True)
            sys.stdin.readline()


if __name__ == "__main__":
    main()
