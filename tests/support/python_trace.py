# SPDX-License-Identifier: Apache-2.0
"""Python stacks of a trace, from `vramtrace dump --json`, decoded without anything of the product's own decoder."""
from python_line_tables import line_of

OFFSET_BITS = 36
ENTERED = 1 << (OFFSET_BITS - 1)


class Frame:
    def __init__(self, code, offset):
        self.file, self.name = code["file"], code["name"]
        self.entered = bool(offset & ENTERED)
        self.offset = offset & (ENTERED - 1)
        self.line = line_of(code, self.offset)

    def __repr__(self):
        return f"{self.name} {self.file}:{self.line}{' entered' if self.entered else ''}"


class PythonTrace:
    def __init__(self, rows):
        self.events = [row for row in rows if "ticket" in row]
        self.decoded = {}
        self.definitions = {(row["pid"], row["definition"]): row for row in rows if "definition" in row}

    def facts(self, key):
        texts = [row["text"].split("\0", 1) for row in self.definitions.values() if row["kind"] == "Fact"]
        return [value for name, value in texts if name == key]

    def _raw(self, pid, stack):
        for frame in self.definitions[pid, stack]["frames"]:
            number, offset = frame[1:].split("+")
            yield self.definitions[pid, int(number)], int(offset, 16)

    def stacks(self, event):
        """(native frames as (module row, offset), Python frames) of an event; None for one that it has not."""
        if event["stack"] == 0:
            return None, None
        key = event["pid"], event["stack"]
        if key not in self.decoded:
            self.decoded[key] = self._decode(event)
        return self.decoded[key]

    def _decode(self, event):
        row = self.definitions[event["pid"], event["stack"]]
        if row["kind"] == "Stack":
            return list(self._raw(event["pid"], event["stack"])), None
        native = list(self._raw(event["pid"], row["native"])) if row["native"] else None
        return native, [Frame(code, offset) for code, offset in self._raw(event["pid"], row["python_stack"])]
