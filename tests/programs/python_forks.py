# SPDX-License-Identifier: Apache-2.0
"""Allocates, forks, and asks for memory in the child, where CUDA no longer works: the refusal has a stack, too."""
import ctypes
import os

cuda = ctypes.CDLL("libcuda.so.1")
context = ctypes.c_void_p()
assert cuda.cuInit(0) == 0 and cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert cuda.cuCtxSetCurrent(context) == 0


def ask(size):
    pointer = ctypes.c_void_p()
    return cuda.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(size))


def in_parent():
    assert ask(5001) == 0


def in_child():
    return ask(5003)


in_parent()
child = os.fork()
if child == 0:
    in_child()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
in_parent()
