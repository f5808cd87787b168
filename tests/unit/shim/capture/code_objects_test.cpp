// SPDX-License-Identifier: Apache-2.0
#include "shim/capture/code_objects.h"

#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "tests/support/catch.h"
#include "tests/unit/shim/capture/fake_python.h"
#include "tests/unit/shim/capture/memory_definitions.h"

using namespace vramtrace;

namespace {

struct Codes {
    explicit Codes(unsigned minor) : python(minor) {}
    trace::DefinitionId id(uintptr_t code) {
        shim::CodeFingerprint fingerprint;
        shim::PlainMemory memory;
        REQUIRE(fingerprint.read(code, python.layout(), memory));
        return objects->id_of(fingerprint, python.layout(), definitions.table(), *scratch);
    }
    // "name file:line" and the size of the table.
    std::string text(trace::DefinitionId id) {
        const auto bytes = definitions.table().body(id);
        trace::CodeObjectBody body;
        if (definitions.table().kind(id) != trace::DefinitionKind::CodeObject || bytes.size() < sizeof(body))
            return "?";
        memcpy(&body, bytes.data(), sizeof(body));
        const std::string rest(reinterpret_cast<const char*>(bytes.data()) + sizeof(body), bytes.size() - sizeof(body));
        CHECK(rest.size() == size_t{body.file_bytes} + body.name_bytes + body.table_bytes);
        CHECK(body.python == python.layout().version);
        CHECK(body.form == (body.table_bytes != 0 ? python.layout().form : trace::LineTable::None));
        return rest.substr(body.file_bytes, body.name_bytes) + " " + rest.substr(0, body.file_bytes) + ":" +
               std::to_string(body.first_line) + " " + std::to_string(body.table_bytes);
    }

    test::FakePython python;
    test::MemoryDefinitions definitions;
    std::unique_ptr<shim::CodeObjects> objects = std::make_unique<shim::CodeObjects>();
    std::unique_ptr<shim::CodeScratch> scratch = std::make_unique<shim::CodeScratch>();
};

}  // namespace

TEST_CASE("a code object is defined once, with all of it", "[capture][python]") {
    for (unsigned minor = 8; minor <= 14; ++minor) {
        CAPTURE(minor);
        Codes codes(minor);
        const uintptr_t code = codes.python.code("dir/file.py", "name", 42);
        const trace::DefinitionId id = codes.id(code);
        CHECK(codes.text(id) == (minor < 11 ? "name dir/file.py:42 4" : "Q.name dir/file.py:42 4"));
        CHECK(codes.id(code) == id);
        CHECK(codes.definitions.count(trace::DefinitionKind::CodeObject) == 1);
        // The same again at another address: the same definition.
        CHECK(codes.id(codes.python.code("dir/file.py", "name", 42)) == id);
        CHECK(codes.id(codes.python.code("dir/file.py", "name", 43)) != id);
    }
}

TEST_CASE("another code object at the same address is another one", "[capture][python]") {
    Codes codes(11);
    const uintptr_t code = codes.python.code("a.py", "f", 1);
    const trace::DefinitionId first = codes.id(code);
    std::set<trace::DefinitionId> ids{first};
    for (int line = 2; line < 300; ++line) {
        codes.python.fill_code(code, "a.py", "f", line);
        ids.insert(codes.id(code));
    }
    CHECK(ids.size() == 299);
    codes.python.fill_code(code, "a.py", "f", 1);
    CHECK(codes.id(code) == first);
    // Only the version differs: the strings lay where others had been.
    Codes newer(12);
    const uintptr_t other = newer.python.code("a.py", "f", 1);
    test::FakePython::put<uint32_t>(other + newer.python.layout().code_version, 5);
    newer.id(other);
    shim::CodeFingerprint fingerprint;
    shim::PlainMemory memory;
    test::FakePython::put<uint32_t>(other + newer.python.layout().code_version, 6);
    REQUIRE(fingerprint.read(other, newer.python.layout(), memory));
    CHECK(newer.objects->find(fingerprint) == 0);
}

TEST_CASE("a long line table is kept whole, an impossible one left out", "[capture][python]") {
    Codes codes(12);
    const uintptr_t code = codes.python.code("a.py", "f", 1);
    const uint16_t field = codes.python.layout().code_table;
    test::FakePython::put(code + field, codes.python.bytes(std::vector<uint8_t>(300'000, 0x80)));
    CHECK(codes.text(codes.id(code)) == "Q.f a.py:1 300000");
    const uintptr_t endless = codes.python.bytes({0x80});
    test::FakePython::put<uint64_t>(endless + 16, 1ULL << 40);
    test::FakePython::put(code + field, endless);
    CHECK(codes.text(codes.id(code)) == "Q.f a.py:1 0");
    test::FakePython::put(code + field, uintptr_t{64});
    CHECK(codes.text(codes.id(code)) == "Q.f a.py:1 0");
}

TEST_CASE("more code objects than the cache holds keep their ids", "[capture][python]") {
    Codes codes(12);
    std::vector<std::pair<uintptr_t, trace::DefinitionId>> known;
    for (int i = 0; i < 40'000; ++i) {
        const uintptr_t code = codes.python.code("a.py", "f", i);
        known.emplace_back(code, codes.id(code));
    }
    for (const auto& [code, id] : known) {
        if (codes.id(code) != id) FAIL("another id");
    }
    CHECK(codes.definitions.count(trace::DefinitionKind::CodeObject) == 40'000);
}

TEST_CASE("threads that meet the same code objects get the same ids", "[capture][python]") {
    Codes codes(12);
    std::vector<uintptr_t> all;
    for (int i = 0; i < 2000; ++i) all.push_back(codes.python.code("a.py", "f", i));
    std::atomic<unsigned> wrong{0};
    const auto work = [&](unsigned seed) {
        auto scratch = std::make_unique<shim::CodeScratch>();
        shim::PlainMemory memory;
        for (unsigned i = 0; i < 60'000; ++i) {
            const size_t which = (i * 7919 + seed * 31) % all.size();
            shim::CodeFingerprint fingerprint;
            fingerprint.read(all[which], codes.python.layout(), memory);
            const trace::DefinitionId id =
                codes.objects->id_of(fingerprint, codes.python.layout(), codes.definitions.table(), *scratch);
            trace::CodeObjectBody body;
            memcpy(&body, codes.definitions.table().body(id).data(), sizeof(body));
            wrong += body.first_line != which;
        }
    };
    std::vector<std::thread> threads;
    for (unsigned seed = 0; seed < 4; ++seed) threads.emplace_back(work, seed);
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == 0);
}
