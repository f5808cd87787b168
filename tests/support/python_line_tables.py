# SPDX-License-Identifier: Apache-2.0
"""Lines of CPython's three kinds of line table. An independent reading, for tests: it shares nothing with the product's."""


def line_of(code, offset):
    """Line that runs at byte `offset` of a CodeObject as `vramtrace dump --json` gives it; None: no line there."""
    table, first = bytes.fromhex(code["table"]), code["first_line"]
    return {"none": lambda *_: first, "lnotab": _lnotab, "pep626": _pep626, "location": _location}[code["form"]](
        table, first, offset)


def _signed(byte):
    return byte - 256 if byte > 127 else byte


def _lnotab(table, line, offset):
    address = 0
    for i in range(0, len(table), 2):
        address += table[i]
        if address > offset:
            break
        line += _signed(table[i + 1])
    return line


def _pep626(table, line, offset):
    end = 0
    for i in range(0, len(table), 2):
        end += table[i]
        delta = _signed(table[i + 1])
        if delta != -128:
            line += delta
        if offset < end:
            return None if delta == -128 else line
    return None


def _location(table, line, offset):
    at, end = 0, 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = table[at]
            at += 1
            value |= (byte & 63) << shift
            shift += 6
            if not byte & 64:
                return value

    def signed_varint():
        value = varint()
        return -(value >> 1) if value & 1 else value >> 1

    while at < len(table):
        head = table[at]
        at += 1
        end += 2 * ((head & 7) + 1)
        kind = (head >> 3) & 15
        if kind in (13, 14):
            line += signed_varint()
            if kind == 14:
                varint(), varint(), varint()
        elif 10 <= kind <= 12:
            line += kind - 10
            at += 2
        elif kind < 10:
            at += 1
        if offset < end:
            return None if kind == 15 else line
    return None
