# SPDX-License-Identifier: Apache-2.0
"""Uses the Python package as a job would, with GPU memory from the runtime by ctypes. Prints what it was told as JSON."""
import ctypes
import io
import json
import os
import sys
import threading

import vramtrace

try:
    cuda = ctypes.CDLL("libcudart.so.13")
except OSError:
    cuda = None


def allocate(size):
    if cuda is None:
        return None
    memory = ctypes.c_void_p()
    assert cuda.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(size)) == 0
    return memory


def free(memory):
    if cuda is not None:
        assert cuda.cudaFree(memory) == 0


def numbers(region):
    return {name: getattr(region, name) for name in
            ("change_bytes", "peak_bytes", "rise_bytes", "allocated_bytes", "survivor_bytes", "survivors", "why")}


told = {"recording": vramtrace.is_recording(), "directory_before": vramtrace.trace_directory()}
with vramtrace.region("outer") as outer:
    kept = allocate(1000)
    with vramtrace.region("inner") as inner:
        first, second = allocate(5000), allocate(700)
        free(first)
    told["outer_running"] = numbers(outer)
told["inner"], told["outer"] = numbers(inner), numbers(outer)

lines = io.StringIO()


@vramtrace.region("step", print=lines)
def step(size):
    memory = allocate(size)
    free(memory)
    return size * 2


told["returned"] = step(3000)
told["line"] = lines.getvalue()
for _ in range(40):
    with vramtrace.region("often"):
        free(allocate(64))
often = vramtrace.region("often")
with often:
    free(allocate(64))
told["often"] = numbers(often)

again = vramtrace.region("threaded")


def in_thread(size, to):
    with again:
        memory = allocate(size)
    to.update(numbers(again))
    free(memory)


told["threads"] = [{}, {}]
for i, to in enumerate(told["threads"]):
    thread = threading.Thread(target=in_thread, args=(1 << (10 + i), to))
    thread.start()
    thread.join()

vramtrace.stop()
told["stopped"] = vramtrace.is_recording()
unseen = allocate(123)
vramtrace.start()
told["started"] = vramtrace.is_recording()
free(unseen)
vramtrace.mark("done")
told["directory"] = vramtrace.trace_directory()
json.dump(told, sys.stdout)
sys.stdout.flush()
os._exit(0) if "--abrupt" in sys.argv else None
