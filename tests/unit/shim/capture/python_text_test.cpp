// SPDX-License-Identifier: Apache-2.0
#include "shim/capture/python_text.h"

#include <string>

#include "tests/support/catch.h"
#include "tests/unit/shim/capture/fake_python.h"

using namespace vramtrace;

namespace {

template <typename Character>
std::string utf8(const std::basic_string<Character>& text, size_t room = 100) {
    std::string to(room + 8, '#');
    const size_t used =
        shim::text_to_utf8(text.data(), text.size(), static_cast<unsigned>(sizeof(Character)), to.data(), room);
    CHECK(used <= room);
    CHECK(to.substr(used) == std::string(to.size() - used, '#'));  // nothing behind the end was touched
    return to.substr(0, used);
}

}  // namespace

TEST_CASE("strings of all three widths become UTF-8", "[capture][python]") {
    CHECK(utf8(std::string("plain")) == "plain");
    CHECK(utf8(std::string("gr\xf6\xdf"
                           "e")) == "größe");
    CHECK(utf8(std::u16string(u"文件 ö")) == "文件 ö");
    CHECK(utf8(std::u32string(U"\U0001f40d 文 ö a")) == "\U0001f40d 文 ö a");
    CHECK(utf8(std::string()).empty());
    CHECK(utf8(std::string("a\0b", 3)) == std::string("a\0b", 3));
}

TEST_CASE("what is no character is replaced", "[capture][python]") {
    CHECK(utf8(std::u16string{u'a', static_cast<char16_t>(0xdc80), u'b'}) ==
          "a\xef\xbf\xbd"
          "b");
    CHECK(utf8(std::u32string{U'a', static_cast<char32_t>(0x110000)}) == "a\xef\xbf\xbd");
}

TEST_CASE("a cut is marked and never lies inside of a character", "[capture][python]") {
    CHECK(utf8(std::string("abcdef"), 6) == "abcdef");
    CHECK(utf8(std::string("abcdefg"), 6) == "abc…");
    CHECK(utf8(std::u16string(u"文文文"), 9) == "文文文");
    CHECK(utf8(std::u16string(u"文文文文"), 9) == "文文…");
    CHECK(utf8(std::u16string(u"a文文文文"), 9) == "a文…");
    CHECK(utf8(std::u16string(u"文"), 3) == "文");
    CHECK(utf8(std::u32string(U"\U0001f40d"), 3) == "…");
}

TEST_CASE("str objects are copied by their own headers", "[capture][python]") {
    for (unsigned minor : {8U, 12U}) {
        test::FakePython python(minor);
        char scratch[64], to[32];
        const auto copy = [&](uintptr_t object) {
            return std::string(
                to, shim::copy_python_text(object, python.layout(), scratch, sizeof(scratch), to, sizeof(to)));
        };
        CHECK(copy(python.text(std::string("file.py"))) == "file.py");
        CHECK(copy(python.text(std::string("\xfc"), false)) == "ü");
        CHECK(copy(python.text(std::u16string(u"文"))) == "文");
        CHECK(copy(python.text(std::u32string(U"\U0001f40d"))) == "\U0001f40d");
        CHECK(copy(python.text(std::string(1000, 'x'))) == std::string(29, 'x') + "…");
        const uintptr_t subclass = python.text(std::string("text"));
        test::FakePython::put<uint32_t>(subclass + 32, 1U << 2);  // not compact: the characters lie elsewhere
        CHECK(copy(subclass) == "?");
        CHECK(copy(16) == "?");
        const uintptr_t endless = python.text(std::string("text"));
        test::FakePython::put<uint64_t>(endless + 16, ~0ULL);
        CHECK(copy(endless).size() <= sizeof(to));
    }
}
