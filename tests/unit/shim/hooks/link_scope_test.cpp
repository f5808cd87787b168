// SPDX-License-Identifier: Apache-2.0
#include "shim/real/link_scope.h"

#include <dlfcn.h>
#include <string.h>

#include <string>

#include "tests/support/catch.h"

using namespace vramtrace::shim;

TEST_CASE("symbols of loaded objects are those that the loader finds") {
    const void* here = reinterpret_cast<const void*>(&strerror);
    CHECK(definition_without_us("strerror", __builtin_return_address(0)) == here);
    CHECK(definition_without_us("no_such_function_anywhere", __builtin_return_address(0)) == nullptr);
    CHECK(next_in_scope("getenv") == reinterpret_cast<void*>(&getenv));
    CHECK_FALSE(defined_elsewhere("cudaMalloc_of_nobody"));
}

TEST_CASE("objects know their names, needs and versions") {
    bool libc_seen = false;
    with_loaded_objects([&](const LoadedObjects& all) {
        REQUIRE(all.count > 2);
        CHECK(is_ours(all.begin()->dynamic));  // the test program itself
        bool needs_libc = false;
        const DynamicTables own(*all.begin());
        for (unsigned n = 0; const char* needed = own.needed(n); ++n) needs_libc |= std::string(needed) == "libc.so.6";
        CHECK(needs_libc);
        for (const auto& object : all) {
            const DynamicTables tables(object);
            if (tables.soname() == nullptr || std::string(tables.soname()) != "libc.so.6") continue;
            libc_seen = true;
            CHECK(tables.find("memcpy", "GLIBC_2.14") != nullptr);
            CHECK(tables.find("memcpy", "GLIBC_2.2.5") != tables.find("memcpy", "GLIBC_2.14"));
            CHECK(tables.find("memcpy", "GLIBC_9.9") == nullptr);
            CHECK(all.containing(reinterpret_cast<const void*>(&strerror)) == &object);
            const unsigned mention = own.mention("strlen");
            if (mention != 0) CHECK(std::string(own.wanted_version(mention)) == "GLIBC_2.2.5");
        }
    });
    CHECK(libc_seen);
}

TEST_CASE("a place of call is remembered until something was unloaded") {
    const void* place = reinterpret_cast<const void*>(&strerror);
    void* first = linked_function(250, "strtol", place);
    CHECK(first == reinterpret_cast<void*>(&strtol));
    CHECK(linked_function(250, "asked for no more", place) == first);
    CHECK(linked_function(251, "strtoul", place) == reinterpret_cast<void*>(&strtoul));
    forget_links();
    CHECK(linked_function(250, "asked for no more", place) == nullptr);
    CHECK(linked_function(250, "strtol", place) == first);
}
