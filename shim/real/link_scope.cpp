// SPDX-License-Identifier: Apache-2.0
#include "shim/real/link_scope.h"

#include <string.h>

#include <atomic>

namespace vramtrace::shim {

extern "C" {
// The linker's own: where our object begins and ends.
[[gnu::visibility("hidden")]] extern const char __ehdr_start;
[[gnu::visibility("hidden")]] extern const char _end;
}

bool is_ours(const void* address) {
    const auto value = reinterpret_cast<uintptr_t>(address);
    return value >= reinterpret_cast<uintptr_t>(&__ehdr_start) && value < reinterpret_cast<uintptr_t>(&_end);
}

namespace {

constexpr size_t kMaxTree = 512;

bool is_called(const LoadedObject& object, const char* needed, uint32_t needed_hash) {
    if (object.soname_hash != needed_hash && object.file_name_hash != needed_hash) return false;
    const char* soname = DynamicTables(object).soname();
    return (soname != nullptr && strcmp(soname, needed) == 0) || strcmp(file_name_of(object.path), needed) == 0;
}

// A set of loaded objects in search order, grown by their DT_NEEDED entries breadth first.
class Tree {
public:
    explicit Tree(const LoadedObjects& all) : all_(all) {
        for (const auto& object : all)
            if (is_ours(object.dynamic)) us_ = &object;
    }
    // Objects are listed in the order of their loading, and what was loaded before us is searched before us: whoever
    // reached us nevertheless, by RTLD_NEXT, has passed it. Going back to it would be going in circles.
    bool is_behind_us(const LoadedObject& object) const { return us_ == nullptr || &object > us_; }
    void clear() { count_ = 0; }
    void add(const LoadedObject& object) {
        for (size_t i = 0; i < count_; ++i)
            if (members_[i] == &object) return;
        if (count_ < kMaxTree) members_[count_++] = &object;
    }
    void add_dependencies() {
        for (size_t i = 0; i < count_; ++i) {
            const DynamicTables tables(*members_[i]);
            for (unsigned n = 0; const char* path = tables.needed(n); ++n) {
                const char* needed = file_name_of(path);
                const uint32_t hash = gnu_hash_of(needed);
                for (const auto& object : all_)
                    if (is_called(object, needed, hash)) {
                        add(object);
                        break;
                    }
            }
        }
    }
    void* find(const char* name, const char* version) const {
        for (size_t i = 0; i < count_; ++i) {
            if (!is_behind_us(*members_[i])) continue;
            if (void* found = DynamicTables(*members_[i]).find(name, version)) return found;
        }
        return nullptr;
    }

private:
    const LoadedObjects& all_;
    const LoadedObject* us_ = nullptr;
    const LoadedObject* members_[kMaxTree];
    size_t count_ = 0;
};

// The objects of program start in search order: the program, what LD_PRELOAD put behind it, and all they need.
void add_startup_objects(const LoadedObjects& all, Tree& tree) {
    if (all.count == 0) return;
    const char* first_needed = DynamicTables(all.begin()[0]).needed(0);
    const uint32_t hash = first_needed != nullptr ? gnu_hash_of(file_name_of(first_needed)) : 0;
    for (const auto& object : all) {
        if (&object != all.begin() && first_needed != nullptr && is_called(object, file_name_of(first_needed), hash))
            break;
        tree.add(object);
        if (first_needed == nullptr) break;
    }
    tree.add_dependencies();
}

const char* version_wanted_by(const LoadedObject* object, const char* name) {
    if (object == nullptr) return nullptr;
    const DynamicTables tables(*object);
    return tables.wanted_version(tables.mention(name));
}

void* search_all(const LoadedObjects& all, const char* name, const LoadedObject* asking) {
    const char* version = version_wanted_by(asking, name);
    Tree tree(all);
    add_startup_objects(all, tree);
    if (void* found = tree.find(name, version)) return found;
    if (asking != nullptr) {
        tree.clear();
        tree.add(*asking);
        tree.add_dependencies();
        if (void* found = tree.find(name, version)) return found;
    }
    for (const auto& object : all) {
        if (&object == asking || is_ours(object.dynamic)) continue;
        const DynamicTables tables(object);
        const unsigned mention = tables.mention(name);
        if (mention == 0) continue;
        tree.clear();
        tree.add(object);
        tree.add_dependencies();
        if (void* found = tree.find(name, tables.wanted_version(mention))) return found;
    }
    for (const auto& object : all)
        if (tree.is_behind_us(object))
            if (void* found = DynamicTables(object).find(name, version)) return found;
    return nullptr;
}

// Remembered places of call. A torn entry is impossible: the sequence is odd while somebody writes, and a reader that
// saw another sequence before than after throws away what it read. A writer that dies or is interrupted in between leaves
// the entry odd: it is then never used again, and the places that fall on it take the cold path.
struct RememberedLink {
    std::atomic<uint32_t> sequence;
    std::atomic<uint32_t> id;
    std::atomic<uint32_t> epoch;
    std::atomic<const void*> caller;
    std::atomic<void*> function;
};
constexpr size_t kRememberedLinks = 512;
constinit RememberedLink remembered[kRememberedLinks];
constinit std::atomic<uint32_t> link_epoch{1};

RememberedLink& place_for(unsigned id, const void* caller) {
    const uint64_t mixed = (reinterpret_cast<uintptr_t>(caller) ^ (uint64_t{id} << 48)) * 0x9E3779B97F4A7C15ULL;
    return remembered[mixed >> 55];
}
static_assert(kRememberedLinks == 1U << (64 - 55));

void* recall(unsigned id, const void* caller, uint32_t epoch) {
    const auto& entry = place_for(id, caller);
    const uint32_t before = entry.sequence.load(std::memory_order_acquire);  // pairs with the release in remember()
    if ((before & 1) != 0 || entry.caller.load(std::memory_order_relaxed) != caller) return nullptr;
    const bool same =
        entry.id.load(std::memory_order_relaxed) == id && entry.epoch.load(std::memory_order_relaxed) == epoch;
    void* function = entry.function.load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);  // the fields were read before the second look
    return same && entry.sequence.load(std::memory_order_relaxed) == before ? function : nullptr;
}

void remember(unsigned id, const void* caller, uint32_t epoch, void* function) {
    auto& entry = place_for(id, caller);
    uint32_t sequence = entry.sequence.load(std::memory_order_relaxed);
    if ((sequence & 1) != 0 ||
        !entry.sequence.compare_exchange_strong(sequence, sequence + 1, std::memory_order_acquire))
        return;                                           // somebody else writes here: not remembered this time
    std::atomic_thread_fence(std::memory_order_release);  // the odd sequence is seen before any field changes
    entry.caller.store(caller, std::memory_order_relaxed);
    entry.id.store(id, std::memory_order_relaxed);
    entry.epoch.store(epoch, std::memory_order_relaxed);
    entry.function.store(function, std::memory_order_relaxed);
    entry.sequence.store(sequence + 2, std::memory_order_release);  // pairs with the acquire in recall()
}

}  // namespace

void* definition_without_us(const char* name, const void* caller) {
    void* found = nullptr;
    with_loaded_objects([&](const LoadedObjects& all) { found = search_all(all, name, all.containing(caller)); });
    return found;
}

void* linked_function(unsigned id, const char* name, const void* caller) {
    const uint32_t epoch = link_epoch.load(std::memory_order_acquire);  // pairs with forget_links
    if (void* function = recall(id, caller, epoch)) return function;
    void* function = nullptr;
    with_loaded_objects([&](const LoadedObjects& all) {
        // All places of call in one object get the same answer, which is remembered under the object's start.
        const LoadedObject* asking = all.containing(caller);
        const void* object_start = asking != nullptr ? reinterpret_cast<const void*>(asking->start) : nullptr;
        function = recall(id, object_start, epoch);
        if (function != nullptr) return;
        function = search_all(all, name, asking);
        if (function != nullptr) remember(id, object_start, epoch, function);
    });
    if (function != nullptr) remember(id, caller, epoch, function);
    return function;
}

void forget_links() {
    link_epoch.fetch_add(1, std::memory_order_release);
}

void* next_in_scope(const char* name) {
    void* found = nullptr;
    with_loaded_objects([&](const LoadedObjects& all) {
        bool behind_us = false;
        for (const auto& object : all) {
            if (is_ours(object.dynamic)) {
                behind_us = true;
            } else if (behind_us && found == nullptr) {
                found = DynamicTables(object).find(name);
            }
        }
        for (const auto& object : all)
            if (found == nullptr && !is_ours(object.dynamic)) found = DynamicTables(object).find(name);
    });
    return found;
}

bool defined_elsewhere(const char* name) {
    bool found = false;
    with_loaded_objects([&](const LoadedObjects& all) {
        for (const auto& object : all)
            if (!found && !is_ours(object.dynamic)) found = DynamicTables(object).find(name) != nullptr;
    });
    return found;
}

}  // namespace vramtrace::shim
