// SPDX-License-Identifier: Apache-2.0
#include "analyzer/print/json_writer.h"

#include <cmath>
#include <limits>
#include <sstream>

#include "tests/support/catch.h"

using namespace vramtrace;

TEST_CASE("JSON is written as it goes, one line or indented") {
    std::ostringstream line;
    print::JsonWriter json(line, 0);
    json.object().member("a", 1).key("b").array().value(true).null().value("x").end();
    json.key("empty").object().end().key("none").array().end().end();
    CHECK(line.str() == R"({"a":1,"b":[true,null,"x"],"empty":{},"none":[]})");

    std::ostringstream block;
    print::JsonWriter indented(block);
    indented.object().member("a", 1).key("b").array().value(2).end().end();
    CHECK(block.str() == "{\n \"a\": 1,\n \"b\": [\n  2\n ]\n}");
}

TEST_CASE("whatever the text, the JSON is valid") {
    std::ostringstream out;
    print::JsonWriter json(out, 0);
    json.array().value(std::string("q\"b\\n\n\x01\xff\0z", 10)).value(std::numeric_limits<uint64_t>::max());
    json.value(std::nan("")).value(0.5).value(int64_t{-3}).end();
    CHECK(out.str() == "[\"q\\\"b\\\\n\\u000a\\u0001\xef\xbf\xbd\\u0000z\",18446744073709551615,null,0.5,-3]");
}
