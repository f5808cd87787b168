// SPDX-License-Identifier: Apache-2.0
#include "shim/capture/cfi_program.h"

#include "shim/capture/cfi_reader.h"

namespace vramtrace::shim {
namespace {

constexpr unsigned kMaxRemembered = 4;

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
    uint64_t code_alignment = 1;
    int64_t data_alignment = 1;
    uint64_t return_register = 0;
    uint8_t pointer_encoding = 0;  // absptr
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
    cie.code_alignment = body.uleb();
    cie.data_alignment = body.sleb();
    cie.return_register = version == 1 ? body.byte() : body.uleb();
    if (letters > 0) {
        if (augmentation[0] != 'z') return false;  // "eh" of gcc 2
        cie.has_augmentation_data = true;
        CfiReader data = body.part(body.uleb());
        for (unsigned i = 1; i < letters; ++i) {
            switch (augmentation[i]) {
                case 'R': cie.pointer_encoding = data.byte(); break;
                case 'P': skip_pointer(data, data.byte()); break;
                case 'L': data.byte(); break;
                case 'S': cie.signal_frame = true; break;
                default: i = letters;  // unknown letters: the rest of the data is theirs
            }
        }
        if (!data.good()) return false;
    }
    cie.program = body;
    return body.good() && cie.return_register == kReturn;
}

class Program {
public:
    Program(const CommonEntry& cie, FrameRules& rules) : cie_(cie), rules_(rules) {}

    // Runs until the location passes `pc`. False: an instruction that we do not know, or nonsense.
    bool run(CfiReader reader, uintptr_t location, uintptr_t pc, const FrameRules& initial) {
        while (!reader.at_end()) {
            const uint8_t instruction = reader.byte();
            const uint8_t operand = instruction & 0x3f;
            switch (instruction & 0xc0) {
                case 0x40:  // advance_loc
                    location += operand * cie_.code_alignment;
                    if (location > pc) return true;
                    continue;
                case 0x80: at_cfa(operand, static_cast<int64_t>(reader.uleb())); continue;  // offset
                case 0xc0: restore(operand, initial); continue;                             // restore
                default: break;
            }
            uint64_t reg;
            switch (instruction) {
                case 0x00: break;                                                                     // nop
                case 0x01: location = reader.pointer(cie_.pointer_encoding, 0); break;                // set_loc
                case 0x02: location += reader.byte() * cie_.code_alignment; break;                    // advance_loc1
                case 0x03: location += reader.fixed<uint16_t>() * cie_.code_alignment; break;         // advance_loc2
                case 0x04: location += reader.fixed<uint32_t>() * cie_.code_alignment; break;         // advance_loc4
                case 0x05: reg = reader.uleb(); at_cfa(reg, static_cast<int64_t>(reader.uleb())); break;  // offset_ext
                case 0x06: restore(reader.uleb(), initial); break;                                    // restore_extended
                case 0x07: set(reader.uleb(), RegisterRule::Undefined, 0); break;                     // undefined
                case 0x08: set(reader.uleb(), RegisterRule::SameValue, 0); break;                     // same_value
                case 0x09: reg = reader.uleb(); set(reg, RegisterRule::InRegister, static_cast<int64_t>(reader.uleb())); break;
                case 0x0a: if (!remember()) return false; break;                                      // remember_state
                case 0x0b: if (!recall()) return false; break;                                        // restore_state
                case 0x0c: reg = reader.uleb(); cfa(reg, static_cast<int64_t>(reader.uleb())); break; // def_cfa
                case 0x0d: cfa(reader.uleb(), rules_.cfa_offset); break;                              // def_cfa_register
                case 0x0e: rules_.cfa_offset = static_cast<int64_t>(reader.uleb()); break;            // def_cfa_offset
                case 0x0f: cfa_expression(reader); break;                                  // def_cfa_expression
                case 0x10: reg = reader.uleb(); expression(reg, RegisterRule::AtExpression, reader); break;
                case 0x11: reg = reader.uleb(); at_cfa(reg, reader.sleb()); break;         // offset_extended_sf
                case 0x12: reg = reader.uleb(); cfa(reg, reader.sleb() * cie_.data_alignment); break; // def_cfa_sf
                case 0x13: rules_.cfa_offset = reader.sleb() * cie_.data_alignment; break; // def_cfa_offset_sf
                case 0x14: reg = reader.uleb(); set(reg, RegisterRule::CfaPlus, static_cast<int64_t>(reader.uleb()) * cie_.data_alignment); break;
                case 0x15: reg = reader.uleb(); set(reg, RegisterRule::CfaPlus, reader.sleb() * cie_.data_alignment); break;
                case 0x16: reg = reader.uleb(); expression(reg, RegisterRule::IsExpression, reader); break;
                case 0x2e: reader.uleb(); break;                                                      // GNU_args_size
                case 0x2f: reg = reader.uleb(); at_cfa(reg, -static_cast<int64_t>(reader.uleb())); break;  // GNU_negative_…
                default: return false;
            }
            if (location > pc) return reader.good();
        }
        return reader.good();
    }

private:
    void set(uint64_t reg, RegisterRule::Kind kind, int64_t offset) {
        const unsigned index = FrameRules::index_of(reg);
        if (index == FrameRules::kTracked) return;
        rules_.rules[index].kind = kind;
        rules_.rules[index].offset = offset;
    }
    void at_cfa(uint64_t reg, int64_t factored) { set(reg, RegisterRule::AtCfa, factored * cie_.data_alignment); }
    void restore(uint64_t reg, const FrameRules& initial) {
        const unsigned index = FrameRules::index_of(reg);
        if (index != FrameRules::kTracked) rules_.rules[index] = initial.rules[index];
    }
    void cfa(uint64_t reg, int64_t offset) {
        rules_.cfa_is_expression = false;
        rules_.cfa_register = reg < kRegisters ? static_cast<uint8_t>(reg) : kRegisters;
        rules_.cfa_offset = offset;
    }
    void cfa_expression(CfiReader& reader) {
        const uint64_t bytes = reader.uleb();
        rules_.cfa_is_expression = true;
        rules_.cfa_expression = {reader.position(), static_cast<uint32_t>(bytes)};
        reader.skip(bytes);
    }
    void expression(uint64_t reg, RegisterRule::Kind kind, CfiReader& reader) {
        const uint64_t bytes = reader.uleb();
        const unsigned index = FrameRules::index_of(reg);
        if (index != FrameRules::kTracked) {
            rules_.rules[index].kind = kind;
            rules_.rules[index].bytes = static_cast<uint32_t>(bytes);
            rules_.rules[index].expression = reader.position();
        }
        reader.skip(bytes);
    }
    bool remember() {
        if (remembered_ == kMaxRemembered) return false;
        stack_[remembered_++] = rules_;
        return true;
    }
    bool recall() {
        if (remembered_ == 0) return false;
        rules_ = stack_[--remembered_];
        return true;
    }

    const CommonEntry& cie_;
    FrameRules& rules_;
    unsigned remembered_ = 0;
    FrameRules stack_[kMaxRemembered];
};

bool rules_from_fde(const CfiSection& section, uintptr_t fde, uintptr_t pc, FrameRules& rules) {
    Entry entry;
    if (fde < section.start || fde >= section.end || !read_entry(fde, section.end, entry) || entry.id == 0) return false;
    CommonEntry cie;
    if (entry.id > entry.id_position || !read_common_entry(entry.id_position - entry.id, section, cie)) return false;
    const uintptr_t begin = entry.body.pointer(cie.pointer_encoding, 0);
    const uintptr_t size = entry.body.pointer(cie.pointer_encoding & 0x0f, 0);
    if (!entry.body.good() || pc < begin || pc - begin >= size) return false;
    if (cie.has_augmentation_data) entry.body.skip(entry.body.uleb());
    rules = FrameRules{};
    rules.signal_frame = cie.signal_frame;
    const FrameRules nothing;
    {
        Program common(cie, rules);
        if (!common.run(cie.program, 0, UINTPTR_MAX, nothing)) return false;
    }
    const FrameRules initial = rules;
    Program program(cie, rules);
    return program.run(entry.body, begin, pc, initial);
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
