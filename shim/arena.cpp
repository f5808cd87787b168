// SPDX-License-Identifier: Apache-2.0
#include "shim/arena.h"

#include <sys/mman.h>

#include "trace/ring/system_calls.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

namespace vramtrace::shim {

namespace {

constexpr size_t kPage = 4096;
constexpr size_t kChunk = 256U << 10;
constexpr size_t kLargest = 64U << 20;   // of one piece
constexpr uint64_t kLimit = 1ULL << 30;  // of all

struct Chunk {
    std::atomic<size_t> used;  // bytes handed out, this header included
    size_t size;
};

struct RootPage {
    std::atomic<void*> slots[static_cast<size_t>(RootSlot::Count)];
    std::atomic<Chunk*> chunk;
    std::atomic<uint64_t> mapped;
};
static_assert(sizeof(RootPage) <= kPage);

// Survives a fork; what it points to is zero then. Installed once per process lineage (release/acquire).
constinit std::atomic<RootPage*> root_page{nullptr};

// Zero pages that a fork's child finds zero again.
void* map_wiped(size_t bytes) {
    void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) return nullptr;
    if (madvise(pages, bytes, MADV_WIPEONFORK) == 0) return pages;
    munmap(pages, bytes);  // a kernel before 4.14: we could not tell a child from its parent
    return nullptr;
}

RootPage* root() {
    RootPage* page = root_page.load(std::memory_order_acquire);
    if (page != nullptr) return page;
    const trace::KeepErrno keep_errno;
    auto* fresh = static_cast<RootPage*>(map_wiped(kPage));
    if (fresh == nullptr) return nullptr;
    if (root_page.compare_exchange_strong(page, fresh, std::memory_order_acq_rel, std::memory_order_acquire))
        return fresh;
    munmap(fresh, kPage);
    return page;
}

void* map_counted(RootPage& page, size_t bytes) {
    const trace::KeepErrno keep_errno;
    if (page.mapped.fetch_add(bytes, std::memory_order_relaxed) + bytes <= kLimit) {
        if (void* pages = map_wiped(bytes)) return pages;
    }
    page.mapped.fetch_sub(bytes, std::memory_order_relaxed);
    return nullptr;
}

void* take(Chunk* chunk, size_t bytes, size_t alignment) {
    size_t used = chunk->used.load(std::memory_order_relaxed);
    for (;;) {
        const size_t begin = (used + alignment - 1) & ~(alignment - 1);  // chunks are page-aligned
        if (begin + bytes > chunk->size) return nullptr;
        // relaxed: who gets the bytes finds the zeros that the mapping came with.
        if (chunk->used.compare_exchange_weak(used, begin + bytes, std::memory_order_relaxed)) {
            return reinterpret_cast<char*>(chunk) + begin;
        }
    }
}

}  // namespace

void* arena_allocate(size_t bytes, size_t alignment) {
    RootPage* page = root();
    if (page == nullptr || bytes > kLargest || alignment > kPage) return nullptr;
    if (bytes + alignment > kChunk / 4) return map_counted(*page, (bytes + kPage - 1) & ~(kPage - 1));
    for (;;) {
        Chunk* chunk = page->chunk.load(std::memory_order_acquire);  // pairs with the release below
        if (chunk != nullptr) {
            if (void* piece = take(chunk, bytes, alignment)) return piece;
        }
        auto* fresh = static_cast<Chunk*>(map_counted(*page, kChunk));
        if (fresh == nullptr) return nullptr;
        fresh->size = kChunk;
        fresh->used.store(sizeof(Chunk), std::memory_order_relaxed);
        // release, pairs with the acquire above: its header is filled. A loser's chunk goes back.
        if (!page->chunk.compare_exchange_strong(chunk, fresh, std::memory_order_acq_rel, std::memory_order_relaxed)) {
            munmap(fresh, kChunk);
            page->mapped.fetch_sub(kChunk, std::memory_order_relaxed);
        }
    }
}

std::atomic<void*>* root_slot(RootSlot slot) {
    RootPage* page = root();
    return page == nullptr ? nullptr : &page->slots[static_cast<size_t>(slot)];
}

}  // namespace vramtrace::shim
