// SPDX-License-Identifier: Apache-2.0
#include "shim/capture/code_objects.h"

#include <sys/mman.h>

#include <cstring>

#include "shim/arena.h"
#include "shim/capture/python_text.h"
#include "shim/capture/safe_memory.h"
#include "trace/ring/definition_table.h"

namespace vramtrace::shim {
namespace {

uint64_t mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
    return hash ^ (hash >> 32);
}

uint64_t hash_bytes(uint64_t hash, const void* from, size_t bytes) {
    const auto* at = static_cast<const char*>(from);
    for (; bytes >= 8; at += 8, bytes -= 8) {
        uint64_t word;
        memcpy(&word, at, sizeof(word));
        hash = mix(hash, word);
    }
    uint64_t rest = 0;
    memcpy(&rest, at, bytes);
    return mix(hash, rest ^ (static_cast<uint64_t>(bytes) << 56));
}

// Pages for the line table of one very long function, for a moment.
class Pages {
public:
    explicit Pages(size_t bytes) : bytes_(bytes) {
        const long got = raw::call(SYS_mmap, 0, static_cast<long>(bytes), PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        constexpr long kMostErrors = 4095;
        if (got < 0 && got >= -kMostErrors) return;
        data_ = reinterpret_cast<char*>(got);
    }
    ~Pages() {
        if (data_ != nullptr) raw::call(SYS_munmap, reinterpret_cast<long>(data_), static_cast<long>(bytes_));
    }
    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;
    char* data() const { return data_; }

private:
    char* data_ = nullptr;
    size_t bytes_;
};

}  // namespace

trace::DefinitionId CodeObjects::find(const CodeFingerprint& fingerprint) const {
    const Entry* cache = cache_.load(std::memory_order_acquire);  // pairs with the release in remember()
    if (cache == nullptr) return 0;
    const Entry* set = cache + set_of(fingerprint.words[0]) * kWays;
    for (unsigned way = 0; way < kWays; ++way) {
        const Entry& entry = set[way];
        const uint32_t before = entry.sequence.load(std::memory_order_acquire);
        if ((before & 1) != 0 || entry.words[0].load(std::memory_order_acquire) != fingerprint.words[0]) continue;
        bool same = true;
        for (unsigned i = 1; i < CodeFingerprint::kWords; ++i)
            same &= entry.words[i].load(std::memory_order_acquire) == fingerprint.words[i];
        const trace::DefinitionId id = entry.id.load(std::memory_order_acquire);
        if (same && entry.sequence.load(std::memory_order_relaxed) == before) return id;
    }
    return 0;
}

void CodeObjects::remember(const CodeFingerprint& fingerprint, trace::DefinitionId id) {
    Entry* cache = cache_.load(std::memory_order_acquire);
    if (cache == nullptr) {
        auto* fresh = static_cast<Entry*>(arena_allocate((sizeof(Entry) * kWays) << kSetBits, alignof(Entry)));
        if (fresh == nullptr) return;
        // release, pairs with the acquire in find(); a loser's pages were never touched.
        if (cache_.compare_exchange_strong(cache, fresh, std::memory_order_acq_rel, std::memory_order_acquire))
            cache = fresh;
    }
    Entry* set = cache + set_of(fingerprint.words[0]) * kWays;
    Entry* chosen = &set[id % kWays];
    for (unsigned way = kWays; way-- > 0;) {
        const uint64_t code = set[way].words[0].load(std::memory_order_relaxed);
        if (code == 0) chosen = &set[way];
        if (code != fingerprint.words[0]) continue;
        chosen = &set[way];  // what was at this address is gone
        break;
    }
    uint32_t before = chosen->sequence.load(std::memory_order_relaxed);
    // acquire: what is stored below cannot be seen before the odd sequence. Somebody else is at it: then not.
    if ((before & 1) != 0 || !chosen->sequence.compare_exchange_strong(before, before + 1, std::memory_order_acq_rel,
                                                                       std::memory_order_relaxed))
        return;
    for (unsigned i = 0; i < CodeFingerprint::kWords; ++i)
        chosen->words[i].store(fingerprint.words[i], std::memory_order_release);
    chosen->id.store(id, std::memory_order_release);
    chosen->sequence.store(before + 2, std::memory_order_release);  // pairs with the acquire in find()
}

trace::DefinitionId CodeObjects::intern(const trace::CodeObjectBody& body, const char* file, const char* name,
                                        const char* table, trace::DefinitionTable& definitions) {
    const trace::DefinitionPiece pieces[] = {
        {&body, sizeof(body)}, {file, body.file_bytes}, {name, body.name_bytes}, {table, body.table_bytes}};
    uint64_t hash = 0;
    size_t whole = 0;
    for (const trace::DefinitionPiece& piece : pieces) {
        hash = hash_bytes(hash, piece.bytes, piece.size);
        whole += piece.size;
    }
    const auto equal = [&](trace::DefinitionId id) {
        const auto known = definitions.body(id);
        if (known.size() != whole) return false;
        const std::byte* at = known.data();
        for (const trace::DefinitionPiece& piece : pieces) {
            if (piece.size != 0 && memcmp(at, piece.bytes, piece.size) != 0) return false;
            at += piece.size;
        }
        return true;
    };
    if (const trace::DefinitionId known = contents_.find(hash, equal)) return known;
    if (!contents_.has_room()) return 0;
    const trace::DefinitionId id = definitions.append(trace::DefinitionKind::CodeObject, pieces);
    return id == 0 ? 0 : contents_.insert(hash, id, equal);
}

trace::DefinitionId CodeObjects::define(const CodeFingerprint& fingerprint, const PythonLayout& layout,
                                        trace::DefinitionTable& definitions, CodeScratch& scratch) {
    const uintptr_t code = fingerprint.words[0];
    trace::CodeObjectBody body;
    body.first_line = static_cast<uint32_t>(fingerprint.words[4] >> 32);
    body.python = layout.version;
    SafeMemory memory;
    uintptr_t name = fingerprint.words[2];
    if (layout.code_qualified != PythonLayout::kNone && !memory.load(code + layout.code_qualified, name))
        name = fingerprint.words[2];
    body.file_bytes = static_cast<uint32_t>(copy_python_text(fingerprint.words[1], layout, scratch.text,
                                                             sizeof(scratch.text), scratch.file, sizeof(scratch.file)));
    body.name_bytes = static_cast<uint32_t>(
        copy_python_text(name, layout, scratch.text, sizeof(scratch.text), scratch.name, sizeof(scratch.name)));
    trace::DefinitionId id = 0;
    uint64_t bytes = 0;
    const uintptr_t table = fingerprint.words[3];
    const size_t rest = sizeof(body) + body.file_bytes + body.name_bytes;
    if (!memory.load(table + PythonLayout::kObjectSize, bytes) || bytes > trace::kMaxDefinitionBytes - rest)
        bytes = 0;  // no line table: the first line alone
    const auto with_table_in = [&](char* copy) {
        if (copy != nullptr && bytes != 0 && safe_copy(copy, table + PythonLayout::kBytesData, bytes)) {
            body.form = layout.form;
            body.table_bytes = static_cast<uint32_t>(bytes);
        }
        id = intern(body, scratch.file, scratch.name, copy, definitions);
    };
    if (bytes <= sizeof(scratch.table)) {
        with_table_in(scratch.table);
    } else {
        const Pages pages(bytes);
        with_table_in(pages.data());
    }
    if (id != 0) remember(fingerprint, id);
    return id;
}

}  // namespace vramtrace::shim
