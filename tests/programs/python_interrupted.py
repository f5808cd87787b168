# SPDX-License-Identifier: Apache-2.0
"""Is interrupted by a C handler that allocates, in the middle of everything that an interpreter does.

  python_interrupted.py LIBRARY SECONDS
"""
import ctypes
import gc
import sys
import time

library = ctypes.CDLL(sys.argv[1])


def calls(n):
    def inner(a, b=1, *c, d=2, **e):
        return a
    for i in range(n):
        inner(i, 2, 3, d=4, x=5)


def recursion(n):
    return 0 if n == 0 else 1 + recursion(n - 1)


def generators(n):
    def numbers():
        for i in range(n):
            yield i
    def through():
        yield from numbers()
    return sum(through())


def closures(n):
    return [(lambda x=i: x + i)() for i in range(n)]


def objects(n):
    class Thing:
        def __init__(self, x):
            self.x = x
        def __del__(self):
            self.x = None
        def __eq__(self, other):
            return self.x == other.x
    return [Thing(i) == Thing(i) for i in range(n)]


def exceptions(n):
    def fails(depth):
        if depth == 0:
            raise ValueError
        fails(depth - 1)
    for _ in range(n):
        try:
            fails(5)
        except ValueError:
            pass


def callbacks(n):
    return sorted(range(n), key=lambda x: -x), list(map(lambda x: x, range(n)))


def made_code(n):
    for i in range(n):
        scope = {}
        exec(compile(f"def made{i}():\n    return {i}\nmade{i}()", "made.py", "exec"), scope)


def cycles(n):
    for _ in range(n):
        a, b = [], []
        a.append(b)
        b.append(a)
    gc.collect(0)


def run(end):
    while time.monotonic() < end:
        for work in (calls, generators, closures, objects, callbacks, cycles):
            work(300)
        recursion(60)
        exceptions(20)
        made_code(5)


library.start_interrupting(131)
run(time.monotonic() + float(sys.argv[2]))
print(library.stop_interrupting())
