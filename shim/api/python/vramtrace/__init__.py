# SPDX-License-Identifier: Apache-2.0
"""Says what the program is doing, so that reports can be cut by it: vramtrace report --phase eval

    import vramtrace

    vramtrace.mark("loss computed")
    with vramtrace.region("eval") as r:      # nested in this thread: "train/eval"
        evaluate(model)
    print(r.peak_bytes, r.change_bytes, r.survivor_bytes)

    @vramtrace.region("step", print=True)    # a line on stderr after each call
    def step(batch): ...

Runs with and without vramtrace: without it every call is a no-op and every number is None. Nothing here raises because of
vramtrace. All functions may be called from any thread and in forked children. A region is a window of time of the whole
process: what other threads allocate meanwhile, such as the backward pass, counts in it.
"""
import ctypes
import functools
import json
import os
import shutil
import subprocess
import sys
import threading
import time

__all__ = ["mark", "region", "start", "stop", "is_recording", "is_preloaded", "trace_directory", "program"]

#: Path of the `vramtrace` program that numbers are asked of; None: the one beside the preloaded library, or on PATH.
program = None

_PREFIX = "vramtrace_api_"


def _find(name, result, *arguments):
    """A function of the library if it was preloaded. It is never loaded from here: that would be too late to record."""
    try:
        # The process itself. A PyDLL keeps the GIL, and these calls take less time than giving it away and back.
        function = getattr(ctypes.PyDLL(None), _PREFIX + name)
    except (AttributeError, OSError):
        return None
    function.restype, function.argtypes = result, arguments
    return function


_mark = _find("mark", None, ctypes.c_char_p)
_push = _find("range_push", None, ctypes.c_char_p)
_pop = _find("range_pop", None)
_start = _find("start", None)
_stop = _find("stop", None)
_is_recording = _find("is_recording", ctypes.c_int)
_trace_directory = _find("trace_directory", ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t)


def _bytes(name):
    return str(name).encode("utf-8", "replace").replace(b"\0", b" ")


def mark(name):
    """A moment with a name."""
    if _mark is not None:
        _mark(_bytes(name))


def start():
    """Recording on, for the whole process; beats VRAMTRACE_START."""
    if _start is not None:
        _start()


def stop():
    """Recording off: allocations are not recorded, releases are, so that nothing freed meanwhile looks like a leak."""
    if _stop is not None:
        _stop()


def is_recording():
    """True if GPU memory allocated now would be recorded."""
    return _is_recording is not None and _is_recording() != 0


def is_preloaded():
    """True if vramtrace is in this process, whether it records now or not."""
    return _push is not None


def trace_directory():
    """Where this process's trace is; None: there is none (yet)."""
    if _trace_directory is None:
        return None
    room = ctypes.create_string_buffer(4096)
    return os.fsdecode(room.value) if _trace_directory(room, len(room)) else None


def _library():
    try:
        with open("/proc/self/maps", "rb") as maps:
            for line in maps:
                path = line.rstrip(b"\n").split(None, 5)[-1]
                if os.path.basename(path) == b"libvramtrace.so":
                    return os.fsdecode(path)
    except OSError:
        pass
    return None


def _program():
    if program is not None:
        return program
    library = _library()
    if library is not None:
        here = os.path.dirname(os.path.realpath(library))
        for place in ("", "../bin", "../../bin", "../../../bin"):
            candidate = os.path.normpath(os.path.join(here, place, "vramtrace"))
            if os.path.isfile(candidate) and os.access(candidate, os.X_OK):
                return candidate
    return shutil.which("vramtrace")


def _report():
    """This process's part of `vramtrace report --json`, and why there is none."""
    directory = trace_directory()
    if directory is None:
        return None, "there is no trace: no GPU memory was allocated yet, or vramtrace is not there"
    command = _program()
    if command is None:
        return None, "the program vramtrace was not found; set vramtrace.program to its path"
    environment = {k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD", "NVTX_INJECTION64_PATH")}
    try:
        done = subprocess.run([command, "report", "--json", "--no-symbols", "--pid", str(os.getpid()), directory],
                              env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=600)
        if done.returncode != 0:
            return None, done.stderr.decode("utf-8", "replace").strip() or f"vramtrace report gave {done.returncode}"
        # Of one pid there may be several after an exec in place: the last is us.
        return json.loads(done.stdout)["processes"][-1], None
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, IndexError) as error:
        return None, str(error)


def _spelt(value):
    """A signed amount as the reports spell it: cut, not rounded, to three or four digits."""
    sign, value = ("-" if value < 0 else "+"), abs(value)
    if value < 1024:
        return f"{sign}{value} B"
    unit = 1
    while unit < 6 and value >> (10 * (unit + 1)):
        unit += 1
    one = 1 << (10 * unit)
    whole, hundredths = value // one, value % one * 100 // one
    digits = f"{whole}" if whole >= 100 else f"{whole}.{hundredths // 10}" if whole >= 10 else f"{whole}.{hundredths:02}"
    return f"{sign}{digits} {('KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB')[unit - 1]}"


class _Entry:
    """One passing of a region: enough to find it again in the trace."""

    def __init__(self):
        self.thread = threading.get_native_id()
        self.before = time.monotonic_ns()
        self.after = None
        self.open = True


class region:
    """A region of the program as context manager or decorator; nested ones make paths ("train/eval").

    print: True writes a line to stderr at each end, a file object writes it there. Numbers are read from the trace when
    they are asked for the first time, by starting `vramtrace report`: this takes its time, and grows with the trace.
    They are those of this passing, also while it is still going on. One region object may be used again and by several
    threads; the numbers are those of the passing that ended last in the thread that asks.
    """

    def __init__(self, name, print=False):  # named as users write it
        self.name = str(name)
        self.print = print
        self._bytes = _bytes(name)
        self._local = threading.local()

    def _stack(self):
        stack = getattr(self._local, "stack", None)
        if stack is None:
            stack = self._local.stack = []
            self._local.last = self._local.numbers = None
            self._local.why = "the region has not been entered"
        return stack

    def __enter__(self):
        if _push is not None:
            entry = _Entry()
            _push(self._bytes)
            entry.after = time.monotonic_ns()
            self._stack().append(entry)
            self._local.last, self._local.numbers = entry, None
        return self

    def __exit__(self, *exception):
        if _pop is not None:
            _pop()
            stack = self._stack()
            if stack:
                entry = stack.pop()
                entry.open = False
                self._local.last, self._local.numbers = entry, None
        if self.print:
            try:
                print(self.summary(), file=sys.stderr if self.print is True else self.print, flush=True)
            except Exception:  # a closed stderr is no reason to end the program
                pass
        return False

    def __call__(self, function):
        import inspect
        if inspect.iscoroutinefunction(function):
            # Between two awaits other tasks run in this thread: a range around them all would nest wrongly.
            raise TypeError("region() cannot decorate a coroutine function; use it around what is not awaited")

        @functools.wraps(function)
        def within(*arguments, **named):
            with self:
                return function(*arguments, **named)
        return within

    # --- numbers -----------------------------------------------------------------------------------------------------

    def _look_up(self):
        process, why = _report()
        if process is None:
            return None, why
        entry = self._local.last
        # The container keeps microseconds.
        least, most = entry.before // 1000, entry.after // 1000 + 1
        for phase in process["phases"]["rows"]:
            for passing in phase["ranges"]:
                if passing["thread"] == entry.thread and least <= passing["begin_monotonic_ns"] // 1000 <= most:
                    if phase["path"] == self.name or phase["path"].endswith("/" + self.name):
                        return passing, None
        return None, "the trace no longer tells this passing from the many others of the region, or it was lost"

    @property
    def numbers(self):
        """List of dictionaries, one for each quantity and device, as in docs/report-json.md (phases, ranges, amounts);
        None without vramtrace: `why` says so."""
        self._stack()
        if _push is None:
            self._local.why = "vramtrace is not there"
            return None
        entry = self._local.last
        if entry is None:
            return None
        if self._local.numbers is None or entry.open:
            found, self._local.why = self._look_up()
            self._local.numbers = None if found is None else found["amounts"]
        return self._local.numbers

    @property
    def why(self):
        """Why there are no numbers; None if there are."""
        return self._local.why if self.numbers is None else None

    def _sum(self, member):
        numbers = self.numbers
        if numbers is None:
            return None
        # Blocks of a framework lie in device memory: the finer level if it is there, never both added up.
        for quantity in ("tensor", "device"):
            found = [member(a) for a in numbers if a["quantity"] == quantity]
            if found:
                return sum(found)
        return 0

    @property
    def change_bytes(self):
        """Bytes live at the end minus at the beginning, over all devices; of a framework's blocks if there are any."""
        return self._sum(lambda a: a["live_end_bytes"] - a["live_begin_bytes"])

    @property
    def peak_bytes(self):
        """Most bytes live at once while it was open, whenever they were allocated; the sum of the devices' peaks."""
        return self._sum(lambda a: a["peak_bytes"])

    @property
    def rise_bytes(self):
        """Peak minus what was live at the beginning."""
        return self._sum(lambda a: a["peak_bytes"] - a["live_begin_bytes"])

    @property
    def allocated_bytes(self):
        return self._sum(lambda a: a["allocated"]["bytes"])

    @property
    def survivor_bytes(self):
        """Allocated in it and still live at its end."""
        return self._sum(lambda a: a["survivors"]["bytes"])

    @property
    def survivors(self):
        """How many pieces these are."""
        return self._sum(lambda a: a["survivors"]["count"])

    def summary(self):
        """The numbers in one line."""
        if self.numbers is None:
            return f"vramtrace: {self.name}: no numbers: {self.why}"
        return (f"vramtrace: {self.name}: {_spelt(self.change_bytes)}, peak {_spelt(self.peak_bytes)[1:]} "
                f"({_spelt(self.rise_bytes)}), {self.survivors} survivors of {_spelt(self.survivor_bytes)[1:]}")
