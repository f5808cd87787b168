// SPDX-License-Identifier: Apache-2.0
#include "analyzer/symbolize/python_lines.h"

#include <algorithm>
#include <limits>

#include "trace/bounded_cursor.h"

namespace vramtrace::symbolize {

namespace {

using Bytes = std::span<const std::byte>;

std::optional<uint32_t> checked(int64_t line) {
    if (line <= 0 || line > std::numeric_limits<int32_t>::max()) return std::nullopt;
    return static_cast<uint32_t>(line);
}

// 3.8, 3.9 (Objects/lnotab_notes.txt): each pair begins where the one before ends and says how much the line is greater
// from there on. The last one reaches to the end of the code, wherever that is.
std::optional<uint32_t> lnotab_line(Bytes table, int64_t line, uint64_t offset) {
    trace::BoundedCursor pairs(table);
    uint64_t address = 0;
    while (pairs.left() >= 2) {
        address += pairs.u8();
        if (address > offset) break;
        line += static_cast<int8_t>(pairs.u8());
    }
    return checked(line);
}

// 3.10 (PEP 626): each pair says how long it is and the line of all of it, as a difference; −128 = no line.
std::optional<uint32_t> pep626_line(Bytes table, int64_t line, uint64_t offset) {
    constexpr int8_t kNoLine = -128;
    trace::BoundedCursor pairs(table);
    uint64_t end = 0;
    while (pairs.left() >= 2) {
        end += pairs.u8();
        const auto delta = static_cast<int8_t>(pairs.u8());
        if (delta != kNoLine) line += delta;
        if (offset < end) return delta == kNoLine ? std::nullopt : checked(line);
    }
    return std::nullopt;
}

// Six bits a byte, lowest first; bit 6 says that another follows. At most six bytes: lines are 31 bits.
uint64_t location_varint(trace::BoundedCursor& bytes) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift <= 30; shift += 6) {
        const uint8_t byte = bytes.u8();
        value |= static_cast<uint64_t>(byte & 63) << shift;
        if ((byte & 64) == 0) break;
    }
    return value;
}

// 3.11 on (Objects/locations.md): entries of a first byte 1kkkklll, kind and length in code units less one, and what the
// kind asks for. Only first bytes have bit 7, so that an entry ends where the next such byte is, whatever its kind.
std::optional<uint32_t> location_line(Bytes table, int64_t line, uint64_t offset) {
    constexpr uint8_t kFirst = 0x80;
    constexpr unsigned kOneLine = 10, kNoColumns = 13, kLong = 14, kNoLine = 15;  // below kOneLine: the line stays
    constexpr uint64_t kUnitBytes = 2;
    uint64_t end = 0;
    for (size_t at = 0; at < table.size();) {
        size_t next = at + 1;
        while (next < table.size() && (std::to_integer<uint8_t>(table[next]) & kFirst) == 0) ++next;
        trace::BoundedCursor entry(table.subspan(at, next - at));
        at = next;
        const uint8_t head = entry.u8();
        if ((head & kFirst) == 0) return std::nullopt;
        const unsigned kind = (head >> 3) & 15;
        end += ((head & 7) + 1) * kUnitBytes;
        if (kind == kNoColumns || kind == kLong) {
            const uint64_t coded = location_varint(entry);
            const auto delta = static_cast<int64_t>(coded >> 1);
            line += (coded & 1) != 0 ? -delta : delta;
        } else if (kind >= kOneLine && kind < kNoColumns) {
            line += kind - kOneLine;
        }
        if (!entry.ok()) return std::nullopt;
        if (offset < end) return kind == kNoLine ? std::nullopt : checked(line);
    }
    return std::nullopt;
}

}  // namespace

std::optional<uint32_t> python_line(trace::LineTable form, Bytes table, uint32_t first_line, uint64_t offset) {
    switch (form) {
        case trace::LineTable::Lnotab:
            return lnotab_line(table, first_line, offset);
        case trace::LineTable::Pep626:
            return pep626_line(table, first_line, offset);
        case trace::LineTable::Location:
            return location_line(table, first_line, offset);
        case trace::LineTable::None:
            return checked(first_line);
    }
    return std::nullopt;  // of a newer writer
}

std::optional<PythonCode> PythonCode::read(Bytes body) {
    trace::BoundedCursor cursor(body);
    const auto head = cursor.fixed<trace::CodeObjectBody>();
    if (!cursor.ok()) return std::nullopt;
    const auto part = [&](uint32_t bytes) { return cursor.bytes(std::min<uint64_t>(bytes, cursor.left())); };
    const auto text = [&](uint32_t bytes) {
        const Bytes got = part(bytes);
        return std::string(reinterpret_cast<const char*>(got.data()), got.size());
    };
    PythonCode code;
    code.first_line = head.first_line;
    code.form = head.form;
    code.file = text(head.file_bytes);
    code.name = text(head.name_bytes);
    const Bytes table = part(head.table_bytes);
    code.table.assign(table.begin(), table.end());
    return code;
}

}  // namespace vramtrace::symbolize
