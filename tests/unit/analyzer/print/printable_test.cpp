// SPDX-License-Identifier: Apache-2.0
#include "analyzer/print/printable.h"

#include "tests/support/catch.h"

using namespace vramtrace;

TEST_CASE("control characters and broken UTF-8 are spelt out") {
    CHECK(print::printable("train(float*)") == "train(float*)");
    CHECK(print::printable("größe 漢字 🙂") == "größe 漢字 🙂");
    CHECK(print::printable("a\x1b[31mred\n\t\r\x7f") == "a\\x1b[31mred\\n\\t\\r\\x7f");
    CHECK(print::printable(std::string("nul\0x", 5)) == "nul\\x00x");
    CHECK(print::printable("\xc2\x9b"
                           "31m") == "\\xc2\\x9b31m");  // a terminal may take U+009B for ESC [
    CHECK(print::printable("\xff\xfe") == "\\xff\\xfe");
    CHECK(print::printable("\xc0\xaf") == "\\xc0\\xaf");           // overlong '/'
    CHECK(print::printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");  // a surrogate
    CHECK(print::printable("cut \xe6\xbc") == "cut \\xe6\\xbc");
}

TEST_CASE("columns count characters and long names keep both ends") {
    CHECK(print::columns("µs") == 2);
    CHECK(print::shortened("short", 10) == "short");
    CHECK(print::shortened("0123456789abcdef", 9) == "0123…cdef");
    CHECK(print::shortened("ööööööööööö", 5) == "öö…öö");
}
