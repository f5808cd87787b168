// SPDX-License-Identifier: Apache-2.0
#include "shim/capture/cfi_table.h"

#include "shim/capture/cfi_reader.h"

namespace vramtrace::shim {
namespace {

struct Entry {  // CIE or FDE without its length field
    CfiReader body{1, 0};
    uintptr_t id_position = 0;  // where the CIE pointer stands
    uint64_t id = 0;            // 0: CIE; else distance back to the CIE
    uintptr_t end = 0;
};

bool read_entry(uintptr_t at, uintptr_t section_end, Entry& entry) {
    CfiReader reader(at, section_end);
    uint64_t length = reader.fixed<uint32_t>();
    if (length == 0xffffffff) length = reader.fixed<uint64_t>();
    if (!reader.good() || length == 0) return false;
    entry.body = reader.part(length);
    entry.id_position = entry.body.position();
    entry.end = reader.position();
    entry.id = entry.body.fixed<uint32_t>();
    return entry.body.good();
}

struct CommonEntry {
    ProgramFacts facts;
    uint64_t return_register = 0;
    bool has_augmentation_data = false;
    bool signal_frame = false;
    CfiReader program{1, 0};
};

void skip_pointer(CfiReader& reader, uint8_t encoding) {
    reader.pointer(encoding & 0x0f, 0);
}

bool read_common_entry(uintptr_t at, const CfiSection& section, CommonEntry& cie) {
    Entry entry;
    if (at < section.start || !read_entry(at, section.end, entry) || entry.id != 0) return false;
    CfiReader& body = entry.body;
    const uint8_t version = body.byte();
    if (version != 1 && version != 3 && version != 4) return false;
    char augmentation[8] = {};
    unsigned letters = 0;
    while (const uint8_t letter = body.byte()) {
        if (letters == sizeof(augmentation)) return false;
        augmentation[letters++] = static_cast<char>(letter);
    }
    if (version == 4) body.skip(2);  // address size, segment size
    cie.facts.code_alignment = body.uleb();
    cie.facts.data_alignment = body.sleb();
    cie.return_register = version == 1 ? body.byte() : body.uleb();
    if (letters > 0) {
        if (augmentation[0] != 'z') return false;  // "eh" of gcc 2
        cie.has_augmentation_data = true;
        CfiReader data = body.part(body.uleb());
        for (unsigned i = 1; i < letters; ++i) {
            switch (augmentation[i]) {
                case 'R':
                    cie.facts.pointer_encoding = data.byte();
                    break;
                case 'P':
                    skip_pointer(data, data.byte());
                    break;
                case 'L':
                    data.byte();
                    break;
                case 'S':
                    cie.signal_frame = true;
                    break;
                default:
                    i = letters;  // unknown letters: the rest of the data is theirs
            }
        }
        if (!data.good()) return false;
    }
    cie.program = body;
    return body.good() && cie.return_register == kReturn;
}

bool rules_from_fde(const CfiSection& section, uintptr_t fde, uintptr_t pc, FrameRules& rules) {
    Entry entry;
    if (fde < section.start || fde >= section.end || !read_entry(fde, section.end, entry) || entry.id == 0)
        return false;
    CommonEntry cie;
    if (entry.id > entry.id_position || !read_common_entry(entry.id_position - entry.id, section, cie)) return false;
    const uintptr_t begin = entry.body.pointer(cie.facts.pointer_encoding, 0);
    const uintptr_t size = entry.body.pointer(cie.facts.pointer_encoding & 0x0f, 0);
    if (!entry.body.good() || pc < begin || pc - begin >= size) return false;
    if (cie.has_augmentation_data) entry.body.skip(entry.body.uleb());
    rules = FrameRules{};
    rules.signal_frame = cie.signal_frame;
    rules.function_start = begin;
    const FrameRules nothing;
    if (!run_cfi_program(cie.facts, cie.program, 0, UINTPTR_MAX, nothing, rules)) return false;
    const FrameRules initial = rules;
    return run_cfi_program(cie.facts, entry.body, begin, pc, initial, rules);
}

// Address of the FDE for pc by the sorted table; 0 if there is no such table or no entry.
uintptr_t search_table(const CfiSection& section, uintptr_t pc, bool& has_table, uintptr_t& eh_frame) {
    CfiReader reader(section.header, section.header + section.header_bytes);
    const uint8_t version = reader.byte();
    const uint8_t frame_encoding = reader.byte(), count_encoding = reader.byte(), table_encoding = reader.byte();
    has_table = false;
    if (version != 1) return 0;
    eh_frame = reader.pointer(frame_encoding, section.header);
    constexpr uint8_t kDataRelativeSigned4 = 0x3b;
    if (count_encoding == CfiReader::kOmitted || table_encoding != kDataRelativeSigned4) return 0;
    const uint64_t count = reader.pointer(count_encoding, section.header);
    struct Row {
        int32_t start, fde;
    };
    if (!reader.good() || count > reader.left() / sizeof(Row)) return 0;
    has_table = true;
    const uintptr_t table = reader.position();
    const int64_t wanted = static_cast<int64_t>(pc - section.header);
    uint64_t low = 0, high = count;  // the last row that starts at or before pc is in [low - 1, high)
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        Row row;
        memcpy(&row, reinterpret_cast<const void*>(table + middle * sizeof(Row)), sizeof(row));
        if (row.start <= wanted) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == 0) return 0;
    Row row;
    memcpy(&row, reinterpret_cast<const void*>(table + (low - 1) * sizeof(Row)), sizeof(row));
    return section.header + static_cast<uintptr_t>(int64_t{row.fde});
}

}  // namespace

bool find_frame_rules(const CfiSection& section, uintptr_t pc, FrameRules& rules) {
    if (section.header < section.start || section.header >= section.end ||
        section.header_bytes > section.end - section.header) {
        return false;
    }
    bool has_table;
    uintptr_t eh_frame = 0;
    const uintptr_t fde = search_table(section, pc, has_table, eh_frame);
    if (has_table) return fde != 0 && rules_from_fde(section, fde, pc, rules);
    // No sorted table (some linkers leave it out when they meet an entry they do not understand): one entry after the other.
    constexpr unsigned kMostEntries = 1U << 20;
    if (eh_frame < section.start || eh_frame >= section.end) return false;
    for (unsigned i = 0; i < kMostEntries; ++i) {
        Entry entry;
        if (!read_entry(eh_frame, section.end, entry)) return false;
        if (entry.id != 0 && rules_from_fde(section, eh_frame, pc, rules)) return true;
        eh_frame = entry.end;
    }
    return false;
}

}  // namespace vramtrace::shim
