// SPDX-License-Identifier: Apache-2.0
#include "shim/api/nvtx_names.h"

#include <sys/mman.h>

#include <atomic>
#include <cstring>

#include "trace/ring/definition_record.h"
#include "trace/ring/system_calls.h"

namespace vramtrace::shim::nvtx {

struct Registered {
    uint32_t number;
    uint32_t hash;
    PhaseName name;
};

namespace {

constexpr uint32_t kMost = 8192;
constexpr uint32_t kPlaces = 2 * kMost;  // of the hash index, never more than half full

// Everything in one mapping, made at the first registration: pages that nobody touches cost nothing.
struct Store {
    std::atomic<uint32_t> used;
    std::atomic<Registered*> index[kPlaces];  // release when set: pairs with the acquire of whoever finds it
    Registered entries[kMost];
};

constinit std::atomic<Store*> the_store{nullptr};

Store* store() {
    Store* known = the_store.load(std::memory_order_acquire);
    if (known != nullptr) return known;
    const trace::KeepErrno keep_errno;
    void* pages =
        mmap(nullptr, sizeof(Store), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED) return nullptr;
    auto* fresh = static_cast<Store*>(pages);
    // release, pairs with the acquire above.
    if (the_store.compare_exchange_strong(known, fresh, std::memory_order_acq_rel, std::memory_order_acquire))
        return fresh;
    munmap(pages, sizeof(Store));
    return known;
}

bool same(const Registered& entry, uint32_t hash, const PhaseName& name) {
    return entry.hash == hash && entry.name.bytes == name.bytes &&
           std::memcmp(entry.name.text, name.text, name.bytes) == 0;
}

const Registered* register_taken(const PhaseName& name) {
    Store* all = store();
    if (all == nullptr) return nullptr;
    const uint32_t hash = trace::definition_hash(name.text, name.bytes, trace::kFnvBasis);
    Registered* made = nullptr;
    for (uint32_t i = 0; i < kPlaces; ++i) {
        std::atomic<Registered*>& place = all->index[(hash + i) % kPlaces];
        Registered* entry = place.load(std::memory_order_acquire);
        if (entry == nullptr) {
            if (made == nullptr) {
                // Not beyond the bound, so that the count cannot wrap however often it is asked.
                if (all->used.load(std::memory_order_relaxed) >= kMost) return nullptr;
                const uint32_t at = all->used.fetch_add(1, std::memory_order_relaxed);
                if (at >= kMost) return nullptr;
                made = &all->entries[at];
                made->number = at + 1;
                made->hash = hash;
                std::memcpy(&made->name, &name, sizeof name);
            }
            if (place.compare_exchange_strong(entry, made, std::memory_order_acq_rel, std::memory_order_acquire))
                return made;
        }
        if (same(*entry, hash, name)) return entry;  // `made`, if any, stays unused
    }
    return nullptr;
}

size_t put_utf8(char* to, uint32_t code) {
    const auto tail = [&](unsigned shift) { return static_cast<char>(0x80 | ((code >> shift) & 0x3f)); };
    if (code >= 0x110000 || (code >= 0xd800 && code < 0xe000)) code = '?';
    if (code < 0x80) {
        to[0] = static_cast<char>(code);
        return 1;
    }
    if (code < 0x800) {
        to[0] = static_cast<char>(0xc0 | (code >> 6));
        to[1] = tail(0);
        return 2;
    }
    if (code < 0x10000) {
        to[0] = static_cast<char>(0xe0 | (code >> 12));
        to[1] = tail(6);
        to[2] = tail(0);
        return 3;
    }
    to[0] = static_cast<char>(0xf0 | (code >> 18));
    to[1] = tail(12);
    to[2] = tail(6);
    to[3] = tail(0);
    return 4;
}

}  // namespace

const Registered* register_name(const char* text) {
    PhaseName name{};
    take_name(name, text);
    return register_taken(name);
}

const Registered* register_name(const wchar_t* text) {
    PhaseName name{};
    take_wide_name(name, text);
    return register_taken(name);
}

void take_wide_name(PhaseName& to, const wchar_t* text) {
    static_assert(sizeof(wchar_t) == 4);
    char narrow[kPhaseNameBytes + 5];
    size_t bytes = 0;
    for (; text != nullptr && *text != L'\0' && bytes <= kPhaseNameBytes; ++text)
        bytes += put_utf8(narrow + bytes, static_cast<uint32_t>(*text));
    narrow[bytes] = '\0';
    take_name(to, narrow);
}

void take_message(PhaseName& to, const Registered* domain, MessageType type, const void* message) {
    PhaseName name;
    if (type == kMessageRegistered && message != nullptr) {
        std::memcpy(&name, &static_cast<const Registered*>(message)->name, sizeof name);
    } else if (type == kMessageWide) {
        take_wide_name(name, static_cast<const wchar_t*>(message));
    } else {
        take_name(name, type == kMessageAscii ? static_cast<const char*>(message) : nullptr);
    }
    if (domain == nullptr) {
        std::memcpy(&to, &name, sizeof name);
        return;
    }
    char joined[2 * kPhaseNameBytes + 2];
    std::memcpy(joined, domain->name.text, domain->name.bytes);
    joined[domain->name.bytes] = ':';
    std::memcpy(joined + domain->name.bytes + 1, name.text, name.bytes + 1);
    take_name(to, joined);
}

uint64_t domain_number(const Registered* domain) {
    return domain == nullptr ? 0 : domain->number;
}

}  // namespace vramtrace::shim::nvtx
