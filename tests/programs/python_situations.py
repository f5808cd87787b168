# SPDX-License-Identifier: Apache-2.0
"""Allocates in every situation that a Python stack can be in, and writes what the interpreter itself says of each stack.

  python_situations.py RESULT      RESULT: one JSON object a line, {"size", "case", "stack": [[file, line, name, qualified]]}

Each allocation has a size of its own, by which it is found again in the trace. Runs on CPython 3.8 and later.
"""
import asyncio
import atexit
import contextlib
import ctypes
import functools
import gc
import json
import signal
import sys
import threading
import time

from python_allocations import CONTEXT, allocate, cuda, in_case, records

AT_FINALIZATION = 777777  # the size of allocations in module teardown, of which no stack is asked

CASES = []


def case(function):
    CASES.append(function)
    return function


@case
def plain():
    allocate()
    allocate(); allocate()


@case
def many_lines():
    allocate(
    )
    (
        allocate(),
        [
            allocate(),
            {
                "key":
                    allocate(),
            },
        ],
    )
    functools.reduce(
        lambda a, b:
            allocate(),
        [1, 2, 3])


@case
def recursion():
    def down(depth):
        if depth == 0:
            return allocate()
        return down(depth - 1)
    for depth in (1, 2, 10, 50):
        down(depth)


@case
def mutual_recursion_through_c():
    def sort_key(depth):
        if depth == 0:
            allocate()
            return 0
        return max(map(sort_key, [depth - 1, 0]))
    sort_key(5)


@case
def deeper_than_the_limit():
    def down(depth):
        return allocate() if depth == 0 else down(depth - 1)
    for depth in (110, 118, 125, 126, 127, 128, 129, 130, 131, 200, 500):
        down(depth)


@case
def generators():
    def numbers(count):
        for i in range(count):
            allocate()
            yield i
            allocate()
    assert list(numbers(3)) == [0, 1, 2]
    generator = numbers(2)
    next(generator)
    generator.close()
    assert sum(x for x in numbers(2) if allocate()) == 1


@case
def yield_from():
    def inner():
        got = yield allocate()
        allocate()
        return got
    def middle():
        return (yield from inner())
    def outer():
        result = yield from middle()
        allocate()
        return result
    generator = outer()
    next(generator)
    with contextlib.suppress(StopIteration):
        generator.send(5)
    generator = outer()
    next(generator)
    with contextlib.suppress(ValueError):
        generator.throw(ValueError("thrown in"))


@case
def coroutines():
    async def leaf(n):
        allocate()
        await asyncio.sleep(0)
        allocate()
        return n
    async def branch(n):
        return await leaf(n) + await leaf(n)
    async def numbers():
        for i in range(2):
            allocate()
            yield i
            await asyncio.sleep(0)
    class Manager:
        async def __aenter__(self):
            allocate()
        async def __aexit__(self, *about):
            allocate()
    async def main():
        await asyncio.gather(branch(1), branch(2), branch(3))
        async for _ in numbers():
            allocate()
        async with Manager():
            allocate()
        await asyncio.wait([asyncio.ensure_future(leaf(7)) for _ in range(3)])
        return [x async for x in numbers()]
    assert asyncio.run(main()) == [0, 1]


@case
def threads():
    def work(n):
        cuda.cuCtxSetCurrent(CONTEXT)
        for _ in range(20):
            allocate()
            if n:
                work_deeper(n)
    def work_deeper(n):
        return allocate() if n == 1 else work_deeper(n - 1)
    workers = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


@case
def executed_code():
    scope = {"allocate": allocate}
    exec("allocate()\n\n\nallocate()", scope)
    exec(compile("def f():\n  return allocate()\n\nf()", "made up <file>.py", "exec"), scope)
    eval("allocate()", scope)
    eval("[allocate() for _ in range(2)]", scope)
    exec(compile("def ünï():\n    allocate()\nünï()", "/tmp/größe.py", "exec"), scope)
    exec(compile("def 函数():\n    allocate()\n函数()", "/tmp/文件.py", "exec"), scope)
    exec(compile("def f():\n    allocate()\nf()", "/tmp/\U0001f40d.py", "exec"), scope)
    exec(compile("\n" * 5000 + "allocate()\n" + "\n" * 300 + "allocate()", "far.py", "exec"), scope)
    long = "x" * 300
    exec(compile(f"def {long}():\n    allocate()\n{long}()", "/" + "/".join(["d" * 200] * 15), "exec"), scope)
    # a line table that does not fit a page, with jumps up and down
    lines = "\n".join(f"v = {i} if v else (\n {i},\n\n {i})" for i in range(4000))
    exec(compile(f"v = 0\n{lines}\nallocate()\n", "long.py", "exec"), scope)


@case
def comprehensions():
    [allocate() for _ in range(2)]
    {allocate() for _ in range(2)}
    {i: allocate() for i in range(2)}
    list(allocate() for _ in range(2))
    [[allocate() for _ in range(2)] for _ in range(2)]
    [x for x in [allocate()] if allocate()]


@case
def lambdas():
    (lambda: allocate())()
    twice = lambda f: (f(), f())
    twice(lambda: allocate())
    twice(functools.partial(allocate))


@case
def methods():
    class Thing:
        def __init__(self):
            allocate()
        def __add__(self, other):
            allocate()
            return self
        def __getattr__(self, name):
            return allocate()
        def __call__(self):
            allocate()
        def __iter__(self):
            allocate()
            return iter((1, 2))
        def __len__(self):
            allocate()
            return 1
        def __eq__(self, other):
            allocate()
            return True
        __hash__ = None
        def __getitem__(self, index):
            return allocate()
        def __enter__(self):
            allocate()
            return self
        def __exit__(self, *about):
            allocate()
        @property
        def prop(self):
            return allocate()
        @prop.setter
        def prop(self, value):
            allocate()
        @staticmethod
        def static():
            allocate()
        @classmethod
        def of_class(cls):
            allocate()
        @functools.lru_cache(None)
        def cached(n):
            return allocate()
    thing = Thing()
    thing + thing
    thing.missing
    thing()
    list(thing)
    len(thing)
    bool(thing)
    thing == thing
    thing in [Thing()]
    thing[3]
    thing.prop
    thing.prop = 1
    Thing.static()
    Thing.of_class()
    Thing.cached(3)
    with thing as t:
        t.prop
    class Meta(type):
        def __new__(mcs, *args):
            allocate()
            return super().__new__(mcs, *args)
        def __call__(cls):
            allocate()
            return super().__call__()
    class Made(metaclass=Meta):
        x = allocate()
        def __init_subclass__(cls):
            allocate()
    class Sub(Made):
        pass
    Sub()


@case
def exceptions():
    def fails():
        try:
            raise ValueError("first")
        except ValueError:
            allocate()
            try:
                raise KeyError("second")
            finally:
                allocate()
    try:
        fails()
    except KeyError as error:
        allocate()
        assert error.__context__ is not None
    with contextlib.suppress(ZeroDivisionError):
        try:
            1 / 0
        finally:
            allocate()
    @contextlib.contextmanager
    def managed():
        allocate()
        try:
            yield
        except RuntimeError:
            allocate()
        finally:
            allocate()
    with managed():
        raise RuntimeError
    for i in range(3):
        try:
            continue
        finally:
            allocate()


@case
def callbacks_from_c():
    sorted([3, 1, 2], key=lambda x: allocate())
    sorted([3, 1, 2], key=functools.cmp_to_key(lambda a, b: allocate() and 0))
    list(map(lambda x: allocate(), range(2)))
    list(filter(lambda x: allocate(), range(2)))
    min([1, 2], key=lambda x: allocate())
    callback = ctypes.CFUNCTYPE(None)(lambda: allocate() and None)
    callback()
    ctypes.PYFUNCTYPE(None)(callback)()
    import re
    re.sub("a", lambda match: str(allocate()), "banana")
    json.dumps({"x": object()}, default=lambda thing: allocate())


@case
def traced():
    def tracer(frame, event, argument):
        return tracer
    sys.settrace(tracer)
    try:
        allocate()
        [allocate() for _ in range(2)]
    finally:
        sys.settrace(None)
    def allocating_tracer(frame, event, argument):
        # Before 3.11 a frame at its "call" has no instruction yet; the trace then names its first one's line.
        if frame.f_code is target.__code__ and event == "line":
            sys.settrace(None)
            allocate()
            sys.settrace(allocating_tracer)
        return allocating_tracer
    def target():
        x = 1
        x += 1
        return x
    sys.settrace(allocating_tracer)
    try:
        target()
    finally:
        sys.settrace(None)


@case
def profiled():
    sys.setprofile(lambda frame, event, argument: None)
    try:
        allocate()
        list(map(lambda x: allocate(), range(2)))
    finally:
        sys.setprofile(None)


@case
def code_made_and_dropped():
    for i in range(600):
        scope = {"allocate": allocate}
        lines = "\n" * (i % 7)
        exec(compile(f"{lines}def f{i % 50}():\n{lines}    return allocate()\nf{i % 50}()", f"made{i % 13}.py", "exec"), scope)
        del scope
        if i % 100 == 0:
            gc.collect()


@case
def finalizers():
    class Dying:
        def __del__(self):
            allocate()
    def drop():
        thing = Dying()
        del thing
        other = Dying()
    drop()
    cycle = Dying()
    cycle.me = cycle
    del cycle
    gc.collect()
    class InGenerator:
        def __del__(self):
            allocate()
    def holding():
        held = InGenerator()
        yield 1
    next(holding())
    # collections that begin by themselves, wherever the interpreter makes objects
    for _ in range(3):
        for _ in range(20):
            thing = Dying()
            thing.me = thing
        garbage = [[] for _ in range(5000)]
        for i, x in enumerate(garbage):
            x.append(garbage)
        del garbage


@case
def signals_in_python():
    done = []
    def handler(number, frame):
        allocate()
        done.append(number)
    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
    end = time.monotonic() + 20
    def spin(n):
        total = 0
        for i in range(n):
            total += i * i
        return total
    while len(done) < 20 and time.monotonic() < end:
        spin(500)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)
    assert len(done) >= 20


class AtTheEnd:
    """Dropped when its module is torn down, after the interpreter has said that it ends."""

    def __init__(self, library, byref, pointer, size):
        self.library, self.byref, self.pointer, self.size = library, byref, pointer, size

    def __del__(self):
        self.library.cuMemAlloc_v2(self.byref(self.pointer), self.size)


def at_exit(result):
    in_case("at exit")
    allocate()
    with open(result, "w") as out:
        for record in records:
            out.write(json.dumps(record) + "\n")
        out.write(json.dumps({"python": sys.version.split()[0], "executable": sys.executable}) + "\n")


def main():
    for function in CASES:
        in_case(function.__name__)
        function()
    atexit.register(at_exit, sys.argv[1])


main()
sys.the_end = AtTheEnd(cuda, ctypes.byref, ctypes.c_void_p(), ctypes.c_size_t(AT_FINALIZATION))
