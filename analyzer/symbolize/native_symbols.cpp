// SPDX-License-Identifier: Apache-2.0
#include "analyzer/symbolize/native_symbols.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "analyzer/symbolize/function_index.h"
#include "analyzer/symbolize/symbol_table.h"

namespace vramtrace::symbolize {

namespace {

// What libdwfl's callback is told about the module it works for.
struct DebugSearch {
    std::vector<std::string> by_build_id;  // where the separate debug file should lie
    std::string problem;
};

// Whether the file's build-id is that of `module`; true if the module has none to compare with.
bool same_build_id(Dwfl_Module* module, int descriptor) {
    const unsigned char* wanted = nullptr;
    GElf_Addr address = 0;
    const int wanted_length = dwfl_module_build_id(module, &wanted, &address);
    if (wanted_length <= 0) return true;
    Elf* elf = elf_begin(descriptor, ELF_C_READ_MMAP, nullptr);
    const void* bytes = nullptr;
    const ssize_t length = elf != nullptr ? dwelf_elf_gnu_build_id(elf, &bytes) : -1;
    const bool same = length == wanted_length && std::memcmp(bytes, wanted, static_cast<size_t>(length)) == 0;
    if (elf != nullptr) elf_end(elf);
    return same;
}

// libdwfl's versions differ in how well they check that a debug file belongs to its module, and none says that it
// refused one. So: take what it finds, compare build-ids, and say what was left out.
int find_checked_debuginfo(Dwfl_Module* module, void** data, const char* name, Dwarf_Addr base, const char* file,
                           const char* link, GElf_Word checksum, char** found) {
    const int descriptor = dwfl_standard_find_debuginfo(module, data, name, base, file, link, checksum, found);
    if (descriptor >= 0 && same_build_id(module, descriptor)) return descriptor;
    if (descriptor >= 0) {
        close(descriptor);
        std::free(*found);
        *found = nullptr;
    }
    auto* search = static_cast<DebugSearch*>(*data);
    if (search == nullptr) return -1;
    for (const std::string& path : search->by_build_id) {
        const int refused = open_regular(path);
        if (refused < 0) continue;
        if (!same_build_id(module, refused)) search->problem = path + " has another build-id and was not used";
        close(refused);
    }
    return -1;
}

int no_elf_by_name(Dwfl_Module*, void**, const char*, Dwarf_Addr, char**, Elf**) {
    return -1;
}

// `symbol` is the function's name in the symbol table if that is known: lambdas and functions with internal linkage have
// their full name only there.
std::string function_name(Dwarf_Die* die, const char* symbol = nullptr) {
    Dwarf_Attribute attribute;
    for (const unsigned linkage :
         {static_cast<unsigned>(DW_AT_linkage_name), static_cast<unsigned>(DW_AT_MIPS_linkage_name)}) {
        if (dwarf_attr_integrate(die, linkage, &attribute) == nullptr) continue;
        if (const char* name = dwarf_formstring(&attribute); name != nullptr && *name != '\0') return demangled(name);
    }
    if (symbol != nullptr && std::strncmp(symbol, "_Z", 2) == 0) return demangled(symbol);
    const char* name = dwarf_diename(die);
    return name != nullptr ? name : "";
}

uint32_t number(Dwarf_Die* die, unsigned name) {
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    if (dwarf_attr(die, name, &attribute) == nullptr || dwarf_formudata(&attribute, &value) != 0) return 0;
    return value <= UINT32_MAX ? static_cast<uint32_t>(value) : 0;
}

// Where the inlined call `die` was written.
void call_place(Dwarf_Die* die, Dwarf_Die* unit, SourceFrame& frame) {
    frame.line = number(die, DW_AT_call_line);
    Dwarf_Files* files = nullptr;
    size_t count = 0;
    const uint32_t index = number(die, DW_AT_call_file);
    if (dwarf_getsrcfiles(unit, &files, &count) != 0 || index >= count) return;
    if (const char* file = dwarf_filesrc(files, index, nullptr, nullptr); file != nullptr) frame.file = file;
}

}  // namespace

struct NativeSymbols::State {
    ~State() {
        functions.reset();
        symbols.reset();
        if (dwfl != nullptr) dwfl_end(dwfl);
    }

    Dwfl_Callbacks callbacks{};
    std::string debug_path;
    char* debug_path_pointer = nullptr;  // libdwfl wants a char** that stays
    Dwfl* dwfl = nullptr;
    Dwfl_Module* module = nullptr;
    GElf_Addr bias = 0;         // libdwfl's address − the file's
    Dwarf_Addr dwarf_bias = 0;  // libdwfl's address − the debugging information's
    std::optional<FunctionIndex> functions;
    std::optional<SymbolTable> symbols;
    DebugSearch search;
};

NativeSymbols::NativeSymbols(const ModuleKey& module, const SearchPaths& paths) : state_(std::make_unique<State>()) {
    if (!paths.debuginfod) unsetenv("DEBUGINFOD_URLS");
    State& state = *state_;
    state.debug_path = debuginfo_path(paths);
    state.debug_path_pointer = state.debug_path.data();
    state.callbacks.find_elf = no_elf_by_name;
    state.callbacks.find_debuginfo = find_checked_debuginfo;
    state.callbacks.section_address = dwfl_offline_section_address;
    state.callbacks.debuginfo_path = &state.debug_path_pointer;

    std::string first_reason;
    state.search.by_build_id = candidate_files({"", module.build_id}, paths);
    for (const std::string& file : candidate_files(module, paths)) {
        std::string why;
        if (open_file(file, module, why)) {
            readable_ = true;
            break;
        }
        if (first_reason.empty()) first_reason = why;
    }
    if (!readable_) problem_ = first_reason.empty() ? "there is no file to read" : first_reason;
    if (!readable_) return;

    if (Dwarf* dwarf = dwfl_module_getdwarf(state.module, &state.dwarf_bias); dwarf != nullptr) {
        state.functions.emplace(dwarf);
    }
    state.symbols.emplace(state.module);
    problem_ = state.search.problem;
}

NativeSymbols::~NativeSymbols() = default;

bool NativeSymbols::open_file(const std::string& path, const ModuleKey& module, std::string& why) {
    State& state = *state_;
    const int descriptor = open_regular(path);
    if (descriptor < 0) {
        why = errno == ENOENT ? "the file is not there any more"
                              : std::string("cannot be opened: ") + std::strerror(errno);
        return false;
    }
    if (state.dwfl == nullptr) state.dwfl = dwfl_begin(&state.callbacks);
    if (state.dwfl == nullptr) {
        close(descriptor);
        why = dwfl_errmsg(-1);
        return false;
    }
    dwfl_report_begin(state.dwfl);
    Dwfl_Module* opened = dwfl_report_offline(state.dwfl, "module", path.c_str(), descriptor);
    dwfl_report_end(state.dwfl, nullptr, nullptr);
    if (opened == nullptr) close(descriptor);  // else it is libdwfl's now
    GElf_Addr bias = 0;
    Elf* elf = opened != nullptr ? dwfl_module_getelf(opened, &bias) : nullptr;
    if (elf == nullptr) {
        why = std::string("is no ELF file that can be read: ") + dwfl_errmsg(-1);
        return false;
    }
    const unsigned char* bytes = nullptr;
    GElf_Addr address = 0;
    const int length = dwfl_module_build_id(opened, &bytes, &address);
    const std::string build_id = length > 0 ? build_id_text(bytes, static_cast<size_t>(length)) : std::string();
    if (build_id != module.build_id && !module.build_id.empty()) {
        why = "the file was changed since it was recorded (build-id " + (build_id.empty() ? "none" : build_id) +
              ", recorded " + module.build_id + ")";
        return false;
    }
    void** data = nullptr;
    dwfl_module_info(opened, &data, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
    if (data != nullptr) *data = &state.search;
    GElf_Word checksum = 0;
    if (const char* link = dwelf_elf_gnu_debuglink(elf, &checksum); link != nullptr) {
        const char* slash = std::strrchr(link, '/');
        debug_link_ = slash != nullptr ? slash + 1 : link;
    }
    state.module = opened;
    state.bias = bias;
    return true;
}

SourceFrames NativeSymbols::at(uint64_t address, bool* described) {
    SourceFrames frames;
    if (described != nullptr) *described = false;
    if (!readable_) return frames;
    State& state = *state_;
    const uint64_t placed = address + state.bias;
    FunctionIndex::Place place;
    if (state.functions) place = state.functions->find(placed - state.dwarf_bias);

    // Innermost first: its line comes from the line table, every caller's from the call that was inlined into it.
    SourceFrame frame;
    if (place.unit != nullptr) {
        units_missing_ = units_missing_ || place.split_missing;
        if (Dwarf_Line* line = dwarf_getsrc_die(place.unit, placed - state.dwarf_bias); line != nullptr) {
            int line_number = 0;
            if (dwarf_lineno(line, &line_number) == 0 && line_number > 0)
                frame.line = static_cast<uint32_t>(line_number);
            if (const char* file = dwarf_linesrc(line, nullptr, nullptr); file != nullptr) frame.file = file;
        }
    }
    for (size_t i = place.scopes.size(); i > 1; --i) {
        Dwarf_Die* call = &place.scopes[i - 1];
        frame.function = function_name(call);
        frame.inlined = true;
        frames.push_back(std::move(frame));
        frame = SourceFrame();
        call_place(call, place.tree, frame);
    }
    if (described != nullptr) *described = !place.scopes.empty() && !place.split_missing;
    const char* symbol = state.symbols->name_at(placed);
    if (!place.scopes.empty()) frame.function = function_name(&place.scopes[0], symbol);
    if (frame.function.empty() && symbol != nullptr) frame.function = demangled(symbol);
    if (!frame.function.empty() || frame.line != 0) frames.push_back(std::move(frame));
    return frames;
}

}  // namespace vramtrace::symbolize
