// SPDX-License-Identifier: Apache-2.0
#include "analyzer/gate/suppressions.h"

#include "analyzer/gate/amounts.h"
#include "tests/support/catch.h"

using namespace vramtrace;
using namespace vramtrace::gate;

TEST_CASE("patterns match as LeakSanitizer's do", "[gate]") {
    CHECK(matches("foo", "a_foo_b"));
    CHECK_FALSE(matches("foo", "fo"));
    CHECK(matches("f*o", "xxfzzzo"));
    CHECK(matches("^foo", "foobar"));
    CHECK_FALSE(matches("^foo", "a foo"));
    CHECK(matches("foo$", "a foo"));
    CHECK_FALSE(matches("foo$", "foo bar"));
    CHECK(matches("^foo$", "foo"));
    CHECK_FALSE(matches("^foo$", "foofoo"));
    CHECK(matches("^f*o$", "foofoo"));
    CHECK(matches("lib*.so*", "/usr/lib/libcublas.so.13"));
    CHECK(matches("a*b*c", "xaxbxbxc"));
    CHECK_FALSE(matches("a*b*c", "xcxbxa"));
    CHECK(matches("*", ""));
    // No pattern may take long.
    CHECK_FALSE(matches("a*a*a*a*a*a*a*a*b", std::string(5000, 'a')));
}

TEST_CASE("amounts as people write them", "[gate]") {
    CHECK(parse_bytes("0") == 0);
    CHECK(parse_bytes("512 B") == 512);
    CHECK(parse_bytes("64MiB") == 64ULL << 20);
    CHECK(parse_bytes(" 2 GiB ") == 2ULL << 30);
    CHECK(parse_bytes("1.5G") == 3ULL << 29);
    CHECK(parse_bytes("1k") == 1024);
    for (const char* wrong : {"", "-1", "x", "1 X", "1.3 B", "99999999999999999999 G", "1 MiBB", "nan", "1e3"}) {
        CHECK_FALSE(parse_bytes(wrong).has_value());
    }
    CHECK(parse_share("5 %") == 0.05);
    CHECK(parse_share("0.05") == 0.05);
    CHECK_FALSE(parse_share("-5 %").has_value());
    CHECK_FALSE(parse_share("5 percent").has_value());
    CHECK(is_date("2027-01-31"));
    CHECK_FALSE(is_date("2027-13-31"));
    CHECK_FALSE(is_date("31.1.2027"));
}
