// SPDX-License-Identifier: Apache-2.0
#include "shim/hooks/blind_spots.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include <atomic>

#include "shim/capture/safe_memory.h"
#include "shim/hooks/call.h"
#include "shim/hooks/function_table.h"
#include "shim/real/elf_symbols.h"
#include "shim/real/link_scope.h"

namespace vramtrace::shim {

namespace {

constexpr char kDeepbindSentence[] =
    "%s was loaded with RTLD_DEEPBIND and reaches CUDA past vramtrace: what it allocates is not recorded "
    "(VRAMTRACE_STRIP_DEEPBIND=1 closes this)";
constexpr char kNamespaceSentence[] =
    "%s was loaded by dlmopen into a namespace of its own: what is allocated through it may not be recorded";

// state: 0 free, 1 being filled, 2 noted, 3 recorded.
struct Sentence {
    std::atomic<uint8_t> state;
    char text[512];
};
constexpr unsigned kMaxSentences = 16;
constinit Sentence sentences[kMaxSentences];
constinit std::atomic<uint32_t> waiting{0};

// How often to look again after something happened that is worth it: a lazily bound slot shows its value only after its
// first use. The first looks come at once, the others once a second.
constexpr int kLooks = 64, kLooksAtOnce = 8;
constinit std::atomic<int> looks_left{0};
constinit std::atomic<uint64_t> next_look{0};
constinit std::atomic<bool> deepbind_seen{false};
constinit std::atomic<bool> namespace_seen{false};

bool look_is_due() {
    const int left = looks_left.load(std::memory_order_relaxed);
    if (left <= 0) return false;
    timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    const auto second = static_cast<uint64_t>(now.tv_sec);
    if (left <= kLooks - kLooksAtOnce && second < next_look.load(std::memory_order_relaxed)) return false;
    next_look.store(second + 1, std::memory_order_relaxed);
    looks_left.store(left - 1, std::memory_order_relaxed);
    return true;
}

bool names_cuda(const char* file) {
    return strncmp(file, "libcuda.so", 10) == 0 || strncmp(file, "libcudart", 9) == 0;
}

// Whether the object could use CUDA: it needs a CUDA library, or its constants name the driver (a static runtime's do).
bool mentions_cuda(const LoadedObject& object, const DynamicTables& tables) {
    for (unsigned n = 0; const char* needed = tables.needed(n); ++n)
        if (names_cuda(file_name_of(needed))) return true;
    if (names_cuda(file_name_of(object.path))) return true;
    static constexpr char kDriver[] = "libcuda.so";
    constexpr size_t kMostBytes = size_t{64} << 20;
    for (unsigned i = 0; i < object.header_count; ++i) {
        const auto& header = object.headers[i];
        if (header.p_type != PT_LOAD || (header.p_flags & PF_R) == 0 || (header.p_flags & PF_W) != 0) continue;
        const size_t bytes = header.p_filesz < kMostBytes ? header.p_filesz : kMostBytes;
        if (memmem(reinterpret_cast<const void*>(object.bias + header.p_vaddr), bytes, kDriver, sizeof kDriver - 1))
            return true;
    }
    return false;
}

bool is_libc(const LoadedObject& object) {
    const char* file = file_name_of(object.path);
    return strncmp(file, "libc.so", 7) == 0 || strncmp(file, "libdl.so", 8) == 0 || strncmp(file, "ld-", 3) == 0;
}

// A slot of `object` for one of our names that is bound to somebody who is neither us nor the object itself.
bool is_bound_past_us(const LoadedObject& object, const DynamicTables& tables, const LoadedObjects& all) {
    bool past = false;
    tables.for_each_bound_slot([&](const DynamicTables::Relocation& relocation) {
        if (past || (strcmp(relocation.symbol, "dlsym") != 0 && name_of(relocation.symbol) == Name::None)) return;
        if (!object.contains(relocation.slot)) return;
        const void* target = *static_cast<void* const*>(relocation.slot);
        const LoadedObject* holder = all.containing(target);
        if (holder == nullptr || holder == &object || is_ours(target)) return;
        // Another preload in front of us is no blind spot: it passes on what it does not answer itself.
        past = is_libc(*holder) || names_cuda(file_name_of(holder->path));
    });
    return past;
}

void look_for_deepbind() {
    with_loaded_objects([](const LoadedObjects& all) {
        for (const auto& object : all) {
            if (is_ours(object.dynamic) || is_libc(object)) continue;
            const DynamicTables tables(object);
            // The driver's own look-ups are not the program's.
            if (strncmp(file_name_of(object.path), "libcuda.so", 10) == 0) continue;
            if (is_bound_past_us(object, tables, all) && mentions_cuda(object, tables))
                note_blind_spot(kDeepbindSentence, object.path);
        }
    });
}

// The loader's own list of namespaces (glibc 2.35 and later), read through the kernel: it changes under other locks.
struct DebugNamespace {
    int version;
    uintptr_t objects;  // link_map*
    uintptr_t break_function;
    int state;
    uintptr_t loader_base;
    uintptr_t next;  // valid if version > 1
};

uintptr_t first_namespace() {
    uintptr_t address = 0;
    with_loaded_objects([&](const LoadedObjects& all) {
        if (all.count == 0) return;
        for (const auto* entry = all.begin()->dynamic; entry->d_tag != DT_NULL; ++entry)
            if (entry->d_tag == DT_DEBUG) address = entry->d_un.d_ptr;
    });
    return address;
}

// Whether the read-only parts of an object of another namespace name the driver: a static runtime's do.
bool names_driver_inside(uintptr_t bias) {
    static constexpr char kDriver[] = "libcuda.so";
    ElfW(Ehdr) header;
    if (!safe_copy(&header, bias, sizeof header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return false;
    for (unsigned i = 0; i < header.e_phnum && i < 32; ++i) {
        ElfW(Phdr) part;
        if (!safe_copy(&part, bias + header.e_phoff + i * sizeof part, sizeof part)) return false;
        if (part.p_type != PT_LOAD || (part.p_flags & PF_W) != 0) continue;
        constexpr size_t kPiece = 4096, kMostBytes = size_t{16} << 20;
        char piece[kPiece];
        for (size_t at = 0; at < part.p_filesz && at < kMostBytes; at += kPiece - sizeof kDriver) {
            const size_t bytes = part.p_filesz - at < kPiece ? part.p_filesz - at : kPiece;
            if (!safe_copy(piece, bias + part.p_vaddr + at, bytes)) break;
            if (memmem(piece, bytes, kDriver, sizeof kDriver - 1) != nullptr) return true;
        }
    }
    return false;
}

void look_into_namespace(uintptr_t object) {
    for (int guard = 0; object != 0 && guard < 4096; ++guard) {
        link_map map{};
        char path[256] = {};
        if (!safe_copy(&map, object, sizeof map)) return;
        const auto name = reinterpret_cast<uintptr_t>(map.l_name);
        for (size_t i = 0; name != 0 && i < sizeof path - 1; ++i)
            if (!safe_copy(path + i, name + i, 1) || path[i] == '\0') break;
        const char* file = file_name_of(path);
        const bool system = strncmp(file, "libc.so", 7) == 0 || strncmp(file, "ld-", 3) == 0;
        if (names_cuda(file) || (!system && names_driver_inside(map.l_addr))) note_blind_spot(kNamespaceSentence, path);
        object = reinterpret_cast<uintptr_t>(map.l_next);
    }
}

void look_for_namespaces() {
    uintptr_t address = first_namespace();
    for (int guard = 0; address != 0 && guard < 16; ++guard) {
        DebugNamespace entry{};
        if (!safe_copy(&entry, address, sizeof entry) || entry.version < 2) return;
        if (guard > 0) look_into_namespace(entry.objects);  // the first one is ours
        address = entry.next;
    }
}

}  // namespace

void note_deepbind() {
    deepbind_seen.store(true, std::memory_order_relaxed);
    looks_left.store(kLooks, std::memory_order_relaxed);
}

void note_namespace() {
    namespace_seen.store(true, std::memory_order_relaxed);
    looks_left.store(kLooks, std::memory_order_relaxed);
}

void note_blind_spot(const char* sentence, const char* detail) {
    char text[sizeof Sentence::text];
    snprintf(text, sizeof text, sentence, detail);
    for (auto& entry : sentences) {
        uint8_t free = 0;
        if (entry.state.compare_exchange_strong(free, 1, std::memory_order_relaxed)) {
            strcpy(entry.text, text);
            entry.state.store(2, std::memory_order_release);  // pairs with the acquires here and below
            waiting.fetch_add(1, std::memory_order_relaxed);
            return;
        }
        if (entry.state.load(std::memory_order_acquire) >= 2 && strcmp(entry.text, text) == 0) return;
    }
}

void report_blind_spots() {
    if (look_is_due()) {
        if (deepbind_seen.load(std::memory_order_relaxed)) look_for_deepbind();
        if (namespace_seen.load(std::memory_order_relaxed)) look_for_namespaces();
    }
    if (waiting.load(std::memory_order_relaxed) == 0) return;
    for (auto& entry : sentences) {
        uint8_t ready = 2;
        if (!entry.state.compare_exchange_strong(ready, 3, std::memory_order_acquire)) continue;
        waiting.fetch_sub(1, std::memory_order_relaxed);
        open_trace();
        trace::Event event;
        event.kind = trace::EventKind::BlindSpot;
        event.aux = define(trace::DefinitionKind::String, entry.text, static_cast<uint32_t>(strlen(entry.text)));
        record_plain(event, OpensRing::No, WithStack::No);
    }
}

}  // namespace vramtrace::shim
