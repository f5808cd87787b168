// SPDX-License-Identifier: Apache-2.0
#include "shim/capture/python_interpreter.h"

#include <cstring>
#include <initializer_list>

#include "shim/arena.h"
#include "shim/capture/module_symbols.h"
#include "shim/capture/safe_memory.h"
#include "trace/ring/definition_table.h"

namespace vramtrace::shim {
namespace {

void publish(trace::DefinitionTable& definitions, const char* key, std::initializer_list<const char*> texts) {
    trace::DefinitionPiece pieces[8] = {{key, strlen(key) + 1}};
    size_t count = 1;
    for (const char* text : texts) pieces[count++] = {text, strlen(text)};
    definitions.append(trace::DefinitionKind::Fact, std::span<const trace::DefinitionPiece>(pieces, count));
}

class Text {
public:
    Text(char* to, size_t room) : to_(to), room_(room) {}
    ~Text() { to_[used_] = '\0'; }
    Text& put(const char* text) {
        while (*text != '\0' && used_ + 1 < room_) to_[used_++] = *text++;
        return *this;
    }
    Text& put(unsigned value) {
        char digits[11] = {};
        size_t at = sizeof(digits) - 1;
        do digits[--at] = static_cast<char>('0' + value % 10);
        while ((value /= 10) != 0);
        return put(digits + at);
    }

private:
    char* to_;
    size_t room_, used_ = 0;
};

// PY_VERSION_HEX: major, minor, micro, then a, b, c or f (0xa…0xf) and its number.
void name_from_hex(uint32_t hex, char* to, size_t room) {
    Text text(to, room);
    text.put("CPython ").put(hex >> 24).put(".").put((hex >> 16) & 0xff).put(".").put((hex >> 8) & 0xff);
    const unsigned level = (hex >> 4) & 0xf;
    if (level != 0xf) text.put(level == 0xa ? "a" : level == 0xb ? "b" : "rc").put(hex & 0xf);
}

// "3.10.13 (main, …" of Py_GetVersion(): the version as a number (major << 8 | minor), 0 if it is none.
uint16_t name_from_text(const char* version, char* to, size_t room) {
    unsigned part[2] = {0, 0};
    size_t at = 0;
    for (unsigned& number : part) {
        for (; version[at] >= '0' && version[at] <= '9' && number < 256; ++at)
            number = number * 10 + static_cast<unsigned>(version[at] - '0');
        if (version[at] != '.') break;
        ++at;
    }
    char digits[24] = {};
    for (size_t i = 0; i + 1 < sizeof(digits) && version[i] != ' ' && version[i] != '\0'; ++i) digits[i] = version[i];
    Text(to, room).put("CPython ").put(digits);
    return part[0] < 256 && part[1] < 256 ? static_cast<uint16_t>(part[0] << 8 | part[1]) : 0;
}

// An object that the program itself has a copy of (a copy relocation) is used in the place of the library's own.
class Symbols {
public:
    explicit Symbols(const ModuleSymbols& module) : module_(module) { program_.open_program(); }
    uintptr_t object(const char* name) const {
        const uintptr_t copied = program_.find(name);
        return copied != 0 ? copied : module_.find(name);
    }
    template <typename Function>
    Function function(const char* name) const {
        return reinterpret_cast<Function>(module_.find(name));
    }

private:
    const ModuleSymbols& module_;
    ModuleSymbols program_;
};

// Fills in what is known of an interpreter. Null, or why its frames cannot be read.
const char* describe(const Symbols& symbols, Interpreter& interpreter) {
    const uintptr_t hex_at = symbols.object("Py_Version"), runtime = symbols.object("_PyRuntime");
    uint16_t version = 0;
    uint64_t hex = 0;
    if (hex_at != 0) {
        if (!safe_copy(&hex, hex_at, sizeof(hex))) return "its version cannot be read";
        name_from_hex(static_cast<uint32_t>(hex), interpreter.name, sizeof(interpreter.name));
        version = static_cast<uint16_t>(hex >> 16);
    } else if (const auto get_version = symbols.function<const char* (*)()>("Py_GetVersion")) {
        // Before 3.11 no word says it. It writes the same text into the same place each time.
        version = name_from_text(get_version(), interpreter.name, sizeof(interpreter.name));
    }
    if (!python_layout(version, interpreter.layout)) return "a version that is not known here";
    constexpr uint16_t kFirstWithOffsets = 3U << 8 | 13;
    if (version >= kFirstWithOffsets) {
        if (runtime == 0) return "its table of offsets cannot be found";
        const char* refusal = apply_debug_offsets(runtime, static_cast<uint32_t>(hex), interpreter.layout);
        if (refusal != nullptr) return refusal;
    }
    interpreter.is_finalizing = symbols.function<int (*)()>("Py_IsFinalizing");
    if (interpreter.is_finalizing == nullptr)
        interpreter.is_finalizing = symbols.function<int (*)()>("_Py_IsFinalizing");
    interpreter.types.code = symbols.object("PyCode_Type");
    interpreter.types.text = symbols.object("PyUnicode_Type");
    interpreter.types.bytes = symbols.object("PyBytes_Type");
    if (interpreter.is_finalizing == nullptr) return "it does not say when it ends";
    if (interpreter.types.code == 0 || interpreter.types.text == 0 || interpreter.types.bytes == 0)
        return "its types cannot be found";
    return nullptr;
}

}  // namespace

void Interpreter::settle(InterpreterState to, const char* reason, trace::DefinitionTable& definitions) {
    InterpreterState untested = InterpreterState::Untested;
    // acq_rel: who reads Ready or Off sees what led to it.
    if (!state.compare_exchange_strong(untested, to, std::memory_order_acq_rel, std::memory_order_acquire)) return;
    if (to == InterpreterState::Off) publish(definitions, trace::fact::kPythonFrames, {"off: ", name, ": ", reason});
}

void InterpreterList::add(Interpreter& found, trace::DefinitionTable& definitions, const char* refusal) {
    for (std::atomic<Interpreter*>& place : list_) {
        Interpreter* there = nullptr;
        // acq_rel, pairs with the acquire in get(): it is described before it is seen.
        if (!place.compare_exchange_strong(there, &found, std::memory_order_acq_rel, std::memory_order_acquire)) {
            if (there->this_thread_state == found.this_thread_state && there->module == found.module) return;
            continue;
        }
        publish(definitions, trace::fact::kPython, {found.name});
        if (refusal != nullptr) found.settle(InterpreterState::Off, refusal, definitions);
        return;
    }
}

void InterpreterList::look_again(const ModuleList& modules, trace::DefinitionTable& definitions) {
    const uint32_t met = modules.met();
    for (uint32_t i = 0; i < modules.count(); ++i) {
        const Module& module = modules.at(i);
        // acquire, pairs with the release in resolve(): its image is there, and it was met.
        if (module.definition.load(std::memory_order_acquire) == 0 || module.generated || module.own) continue;
        if (module.gone.load(std::memory_order_acquire)) continue;
        std::atomic<uint64_t>& examined = examined_[i / 64];
        const uint64_t bit = 1ULL << (i % 64);
        if ((examined.load(std::memory_order_relaxed) & bit) != 0) continue;
        ModuleSymbols symbols;
        constexpr char kThreadState[] = "PyGILState_GetThisThreadState";
        uintptr_t function = 0;
        if (symbols.open_file(module.start, module.image.bias)) function = symbols.find(kThreadState);
        if (function != 0) {
            auto* found = arena_new<Interpreter>();
            if (found == nullptr) return;
            found->module = &module;
            found->this_thread_state = reinterpret_cast<void* (*)()>(function);
            add(*found, definitions, describe(Symbols(symbols), *found));
        }
        examined.fetch_or(bit, std::memory_order_relaxed);
    }
    // release, pairs with the acquire in look().
    looked_.store(met, std::memory_order_release);
}

}  // namespace vramtrace::shim
