// SPDX-License-Identifier: Apache-2.0
#include "analyzer/print/units.h"

#include "tests/support/catch.h"

using namespace vramtrace;

TEST_CASE("bytes never pretend to be more than they are") {
    CHECK(print::bytes(0) == "0 B");
    CHECK(print::bytes(1023) == "1023 B");
    CHECK(print::bytes(1024) == "1.00 KiB");
    CHECK(print::bytes(1048575) == "1023 KiB");
    CHECK(print::bytes(1048576) == "1.00 MiB");
    CHECK(print::bytes(20 * 1048576 + 524288) == "20.5 MiB");
    CHECK(print::bytes(85899345920) == "80.0 GiB");
    CHECK(print::bytes(UINT64_MAX) == "15.9 EiB");
    CHECK(print::signed_bytes(-2048) == "-2.00 KiB");
    CHECK(print::exact_bytes(1) == "1 byte");
    CHECK(print::exact_bytes(1572864) == "1.50 MiB (1,572,864 bytes)");
}

TEST_CASE("numbers are grouped by thousands") {
    CHECK(print::grouped(0) == "0");
    CHECK(print::grouped(999) == "999");
    CHECK(print::grouped(1000) == "1,000");
    CHECK(print::grouped(1234567890) == "1,234,567,890");
    CHECK(print::grouped_signed(INT64_MIN) == "-9,223,372,036,854,775,808");
    CHECK(print::counted(1, "allocation", "allocations") == "1 allocation");
    CHECK(print::counted(2000, "allocation", "allocations") == "2,000 allocations");
}

TEST_CASE("times") {
    CHECK(print::duration(999) == "999 ns");
    CHECK(print::duration(12000) == "12 µs");
    CHECK(print::duration(3400000) == "3.4 ms");
    CHECK(print::duration(1250000000) == "1.25 s");
    CHECK(print::duration(125000000000) == "2 min 05 s");
    CHECK(print::duration(10920000000000) == "3 h 02 min");
    CHECK(print::instant(1001234567) == "1.001234 s");
    CHECK(print::date_time(0) == "unknown");
    CHECK(print::date_time(1000000000000000000) == "2001-09-09 01:46:40 UTC");
}

TEST_CASE("shares") {
    CHECK(print::percent(1, 0) == "-");
    CHECK(print::percent(0, 5) == "0 %");
    CHECK(print::percent(1, 1000) == "<1 %");
    CHECK(print::percent(42, 100) == "42 %");
    CHECK(print::percent(UINT64_MAX, UINT64_MAX) == "100 %");
}
