# SPDX-License-Identifier: Apache-2.0
"""Allocates from Python through ctypes: in methods, a generator, a thread, and below a callback out of the C library."""
import ctypes
import threading

cuda = ctypes.CDLL("libcudart.so.12")
library = ctypes.CDLL(None)
COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


def allocate(size):
    memory = ctypes.c_void_p()
    assert cuda.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(size)) == 0
    return memory


class Layer:
    def __call__(self, size):
        return self.forward(size)

    def forward(self, size):
        return allocate(
            size)


def generate(size):
    yield allocate(size)


def compare(left, right):
    Layer()(3 << 20)
    return 0


def step():
    Layer()(1 << 20)
    list(generate(2 << 20))


def sort():
    two = (ctypes.c_int * 2)(1, 2)
    library.qsort(two, 2, 4, COMPARE(compare))


step()
sort()
thread = threading.Thread(target=step)
thread.start()
thread.join()
