// SPDX-License-Identifier: Apache-2.0
#include "analyzer/print/text_table.h"

#include "tests/support/catch.h"

using namespace vramtrace;

TEST_CASE("a table is as wide as its content") {
    print::TextTable table({print::Align::Right, print::Align::Right, print::Align::Left});
    table.header({"bytes", "count", "where"});
    table.row({"8 MiB", "2", "load_weights()"});
    table.line("    at main.cpp:3");
    table.row({"12 µs", "1,000"});
    CHECK(table.text() ==
          "  bytes  count  where\n"
          "  8 MiB      2  load_weights()\n"
          "      at main.cpp:3\n"
          "  12 µs  1,000\n");
}
