// SPDX-License-Identifier: Apache-2.0
#include "shim/capture/maps_reader.h"

#include <sys/auxv.h>
#include <sys/mman.h>

#include <string>
#include <thread>
#include <vector>

#include "shim/capture/raw_calls.h"
#include "shim/capture/safe_memory.h"
#include "shim/capture/stack_memory.h"
#include "tests/support/catch.h"

using namespace vramtrace;
using shim::Mapping;
using shim::parse_mapping;

TEST_CASE("lines of the kernel's list", "[capture][maps]") {
    Mapping mapping;
    const auto parse = [&](const std::string& line) { return parse_mapping(line.data(), line.size(), mapping); };
    REQUIRE(
        parse("7f4d3b25f000-7f4d3b3b5000 r-xp 00026000 fe:01 339380                     /usr/lib/a b.so (deleted)"));
    CHECK(mapping.start == 0x7f4d3b25f000);
    CHECK(mapping.end == 0x7f4d3b3b5000);
    CHECK(mapping.readable);
    CHECK(mapping.executable);
    CHECK(mapping.offset == 0x26000);
    CHECK(mapping.device == (0xfeULL << 32 | 1));
    CHECK(mapping.inode == 339380);
    CHECK(std::string(mapping.name, mapping.name_bytes) == "/usr/lib/a b.so (deleted)");
    REQUIRE(parse("563e53cb4000-563e53cd5000 rw-p 00000000 00:00 0 "));
    CHECK_FALSE(mapping.executable);
    CHECK(mapping.name_bytes == 0);
    REQUIRE(parse("ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]"));
    CHECK_FALSE(mapping.readable);
    for (const char* line :
         {"", "x", "1000-", "1000-2000", "1000-2000 r", "2000-1000 r-xp 0 0:0 0", "1000-2000 r-xp 0 0:0",
          "1000-2000 r-xp 0 00 7", "1000-2000 r-xpp 0 0:0 0", "-2000 r-xp 0 0:0 0"}) {
        CHECK_FALSE(parse(line));
    }
}

TEST_CASE("the own list, with a small buffer", "[capture][maps]") {
    std::vector<char> buffer(5000);
    shim::MapsReader reader(buffer.data(), buffer.size());
    REQUIRE(reader.is_open());
    Mapping mapping;
    size_t count = 0;
    bool own = false, vdso = false;
    uintptr_t last = 0;
    while (reader.next(mapping)) {
        ++count;
        CHECK(mapping.start >= last);
        last = mapping.end;
        const auto here = reinterpret_cast<uintptr_t>(&parse_mapping);
        own = own || (mapping.executable && here >= mapping.start && here < mapping.end);
        vdso = vdso || mapping.start == getauxval(AT_SYSINFO_EHDR);
    }
    CHECK_FALSE(reader.failed());
    CHECK(own);
    CHECK(vdso);
    CHECK(count > 10);
    std::vector<char> tiny(16);
    shim::MapsReader too_small(tiny.data(), tiny.size());
    CHECK_FALSE(too_small.next(mapping));
    CHECK(too_small.failed());
}

TEST_CASE("memory that may be read, and that may not", "[capture][memory]") {
    constexpr size_t kPage = 4096;
    auto* pages =
        static_cast<char*>(mmap(nullptr, 5 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REQUIRE(mprotect(pages, kPage, PROT_NONE) == 0);
    REQUIRE(mprotect(pages + 4 * kPage, kPage, PROT_NONE) == 0);
    const auto start = reinterpret_cast<uintptr_t>(pages);
    CHECK_FALSE(shim::raw::readable(start));
    CHECK(shim::raw::readable(start + kPage));
    CHECK_FALSE(shim::raw::readable(0));
    CHECK_FALSE(shim::raw::readable(8));
    CHECK_FALSE(shim::raw::readable(~0ULL - 8));
    CHECK_FALSE(shim::raw::readable(1ULL << 50));

    shim::StackMemory memory{};
    CHECK_FALSE(memory.can_load(start + kPage));  // nothing was begun
    CHECK_FALSE(memory.begin(start + 8));
    REQUIRE(memory.begin(start + 2 * kPage + 100));
    CHECK(memory.can_load(start + 2 * kPage));
    CHECK(memory.can_load(start + 3 * kPage + 8));
    CHECK(memory.can_load(start + 4 * kPage - 8));
    CHECK_FALSE(memory.can_load(start + 4 * kPage - 4));
    CHECK_FALSE(memory.can_load(start + 4 * kPage));
    CHECK(memory.can_load(start + kPage));
    CHECK_FALSE(memory.can_load(start + kPage - 8));
    CHECK_FALSE(memory.can_load(8));
    CHECK_FALSE(memory.can_load(~7ULL));

    char copy[64];
    memset(pages + kPage, 7, 64);
    CHECK(shim::safe_copy(copy, start + kPage, 64));
    CHECK(copy[63] == 7);
    CHECK_FALSE(shim::safe_copy(copy, start + kPage - 8, 64));
    CHECK_FALSE(shim::safe_copy(copy, start + 4 * kPage - 8, 64));
    CHECK_FALSE(shim::safe_copy(copy, 0, 8));
    CHECK_FALSE(shim::safe_copy(copy, ~0ULL - 3, 8));
    munmap(pages, 5 * kPage);
}
