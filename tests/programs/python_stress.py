# SPDX-License-Identifier: Apache-2.0
"""Three threads allocate at many depths while two others make and drop code objects, and the collector runs.

  python_stress.py SECONDS      an allocation of BASE + 8 · depth + thread bytes has depth + 1 frames of `walk`
"""
import ctypes
import gc
import sys
import threading
import time

BASE = 65536
cuda = ctypes.CDLL("libcuda.so.1")
context = ctypes.c_void_p()
for result in (cuda.cuInit(0), cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)):
    assert result == 0
end = time.monotonic() + float(sys.argv[1])
counts = [0] * 5


def walk(depth, size):
    if depth == 0:
        pointer = ctypes.c_void_p()
        assert cuda.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(size)) == 0
        return cuda.cuMemFree_v2(pointer)
    return walk(depth - 1, size)


def walker(number):
    assert cuda.cuCtxSetCurrent(context) == 0
    while time.monotonic() < end:
        depth = counts[number] % 40
        assert walk(depth, BASE + 8 * depth + number) == 0
        counts[number] += 1


def maker(number):
    while time.monotonic() < end:
        name = f"made{counts[number] % 97}"
        scope = {}
        exec(compile(f"def {name}(x):\n    if x:\n        return {name}(x - 1)\n    return [y for y in (1, 2)]\n"
                     f"{name}(5)", f"{name}.py", "exec"), scope)
        counts[number] += 1
        if counts[number] % 200 == 0:
            gc.collect()


threads = [threading.Thread(target=walker, args=(n,)) for n in range(3)]
threads += [threading.Thread(target=maker, args=(n,)) for n in (3, 4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sum(counts[:3]), sum(counts[3:]))
