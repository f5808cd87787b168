# SPDX-License-Identifier: Apache-2.0
"""Allocations on the simulated CUDA, each with a size of its own, and what the interpreter says of the stack of each."""
import ctypes
import itertools
import sys
import traceback

FIRST_SIZE = 4096

cuda = ctypes.CDLL("libcuda.so.1")
sizes = itertools.count(FIRST_SIZE)
records = []
current_case = "start"


def in_case(name):
    """What the allocations from now on belong to."""
    global current_case
    current_case = name


def begin():
    context = ctypes.c_void_p()
    for result in (cuda.cuInit(0), cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), cuda.cuCtxSetCurrent(context)):
        if result != 0:
            raise SystemExit(f"CUDA: {result}")
    return context


CONTEXT = begin()


def snapshot():
    """The stack of the caller, innermost frame first, as traceback tells it."""
    frame = sys._getframe(1)
    summary = traceback.StackSummary.extract(traceback.walk_stack(frame), lookup_lines=False)
    names = []
    while frame is not None:
        names.append(getattr(frame.f_code, "co_qualname", frame.f_code.co_name))
        frame = frame.f_back
    return [[s.filename, s.lineno, s.name, name] for s, name in zip(summary, names)]


def note(size, pointer, stack, result):
    assert result == 0, result
    records.append({"size": size, "case": current_case, "stack": stack, "address": pointer.value})


def allocate():
    size, pointer = next(sizes), ctypes.c_void_p()
    note(size, pointer, snapshot(), cuda.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(size)))
    return pointer.value
