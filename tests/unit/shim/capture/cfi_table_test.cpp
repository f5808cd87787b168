// SPDX-License-Identifier: Apache-2.0
#include "shim/capture/cfi_table.h"

#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <sstream>

#include "shim/capture/cfi_rows.h"
#include "tests/support/catch.h"
#include "tests/unit/shim/capture/loaded_file.h"

using namespace vramtrace;
using shim::FrameRules;
using shim::RegisterRule;

namespace {

const char* const kNames[] = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8",
                              "r9",  "r10", "r11", "r12", "r13", "r14", "r15", "ra"};

// A rule as readelf spells it; registers that nothing is said of are "u" there.
std::string spell(const RegisterRule& rule) {
    switch (rule.kind) {
        case RegisterRule::SameValue:
        case RegisterRule::Undefined:
            return "u";
        case RegisterRule::AtCfa:
            return "c" + std::string(rule.offset < 0 ? "" : "+") + std::to_string(rule.offset);
        case RegisterRule::CfaPlus:
            return "v" + std::string(rule.offset < 0 ? "" : "+") + std::to_string(rule.offset);
        case RegisterRule::InRegister:
            return "r" + std::to_string(rule.offset);
        case RegisterRule::AtExpression:
            return "exp";
        case RegisterRule::IsExpression:
            return "vexp";
    }
    return "?";
}

// "r9 (r9)" → "r9": readelf names a register twice.
std::string without_parentheses(const std::string& text) {
    std::string result;
    bool inside = false;
    for (const char c : text) {
        inside = inside || c == '(';
        if (!inside) result += c;
        inside = inside && c != ')';
    }
    return result;
}

struct Compared {
    size_t rows = 0, different = 0, missing = 0;
    std::map<std::string, size_t> kinds;
    std::string first_difference;
};

// Compares our rules with the table that readelf makes of the same file.
Compared compare_with_readelf(const std::string& path) {
    Compared result;
    const test::LoadedFile file(path);
    if (!file.good()) return result;
    FILE* readelf = popen(("readelf -wF '" + path + "' 2>/dev/null").c_str(), "r");
    char line[1024];
    std::vector<std::string> columns;
    bool in_fde = false, skip_section = false;
    uintptr_t fde_end = 0;
    while (readelf != nullptr && fgets(line, sizeof(line), readelf) != nullptr) {
        const std::string text = line;
        if (text.find("Contents of the") != std::string::npos)
            skip_section = text.find(".eh_frame") == std::string::npos;
        if (skip_section) continue;
        if (text.find(" CIE ") != std::string::npos || text.find(" FDE ") != std::string::npos) {
            in_fde = text.find(" FDE ") != std::string::npos;
            const size_t range = text.find("..");
            if (range != std::string::npos) fde_end = std::stoull(text.substr(range + 2), nullptr, 16);
            columns.clear();
            continue;
        }
        std::istringstream words(without_parentheses(text));
        std::string word;
        if (!(words >> word)) continue;
        if (word == "LOC") {
            columns.clear();
            words >> word;
            while (words >> word) columns.push_back(word);
            continue;
        }
        if (!in_fde || columns.empty() || word.size() != 16) continue;
        const uintptr_t location = std::stoull(word, nullptr, 16);
        if (location >= fde_end) continue;  // an empty stretch at the end of a function
        const uintptr_t pc = file.base() + location;
        std::string expected_cfa;
        words >> expected_cfa;
        FrameRules rules;
        ++result.rows;
        if (!shim::find_frame_rules(file.section(), pc, rules)) {
            if (result.missing++ == 0) result.first_difference = "no rules: " + text;
            continue;
        }
        shim::Row row;
        shim::pack_rules(rules, pc, row);
        static const char* const kinds[] = {"Offset", "Stored", "Signal", "Slow", "LastFrame", "Unknown"};
        ++result.kinds[kinds[static_cast<int>(row.kind())]];
        std::string cfa = "exp";
        if (!rules.cfa_is_expression) {
            cfa = kNames[rules.cfa_register % 17] + std::string(rules.cfa_offset < 0 ? "" : "+") +
                  std::to_string(rules.cfa_offset);
        }
        std::string difference = cfa == expected_cfa ? "" : "cfa " + cfa + " not " + expected_cfa;
        for (const std::string& column : columns) {
            words >> word;
            for (unsigned i = 0; i < 7; ++i) {
                if (column != kNames[FrameRules::register_at(i)] || spell(rules.rules[i]) == word) continue;
                if (word == "s" && spell(rules.rules[i]) == "u") continue;
                difference += " " + column + " " + spell(rules.rules[i]) + " not " + word;
            }
        }
        if (difference.empty()) continue;
        if (result.different++ == 0) result.first_difference = text + difference;
    }
    if (readelf != nullptr) pclose(readelf);
    return result;
}

std::string own_path() {
    char path[4096] = {};
    const ssize_t bytes = readlink("/proc/self/exe", path, sizeof(path) - 1);
    return bytes > 0 ? std::string(path, static_cast<size_t>(bytes)) : std::string{};
}

}  // namespace

TEST_CASE("rules are those that readelf finds", "[capture][cfi]") {
    std::string libc;
    {
        std::ifstream maps("/proc/self/maps");
        std::string text;
        while (std::getline(maps, text)) {
            const size_t path = text.find('/');
            if (path != std::string::npos && text.find("/libc.so.6") != std::string::npos) libc = text.substr(path);
        }
    }
    std::vector<std::string> files = {own_path()};
    if (!libc.empty()) files.push_back(libc);
    std::istringstream more(getenv("VRAMTRACE_TEST_CFI_FILES") ? getenv("VRAMTRACE_TEST_CFI_FILES") : "");
    for (std::string path; more >> path;) files.push_back(path);
    for (const std::string& path : files) {
        const Compared compared = compare_with_readelf(path);
        std::string kinds;
        for (const auto& [kind, count] : compared.kinds) kinds += " " + kind + " " + std::to_string(count);
        INFO(path << ": " << compared.rows << " rows," << kinds << "; " << compared.first_difference);
        if (getenv("VRAMTRACE_TEST_CFI_FILES")) {
            WARN(path << ": rows " << compared.rows << ", missing " << compared.missing << ", different "
                      << compared.different << ";" << kinds);
        }
        CHECK(compared.rows > 1000);
        CHECK(compared.different == 0);
        CHECK(compared.missing == 0);
    }
}

TEST_CASE("no byte outside the section is read, whatever it says", "[capture][cfi][fuzz]") {
    const test::LoadedFile file(own_path());
    REQUIRE(file.good());
    const shim::CfiSection& original = file.section();
    const size_t bytes = original.end - original.start;
    const size_t pages = (bytes + 4095) & ~size_t{4095};
    // The copy ends where nothing can be read, and begins there in the second round.
    auto* area = static_cast<unsigned char*>(
        mmap(nullptr, pages + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    REQUIRE(area != MAP_FAILED);
    REQUIRE(mprotect(area + 4096, pages, PROT_READ | PROT_WRITE) == 0);
    std::mt19937_64 random(7);
    size_t found = 0;
    for (int round = 0; round < 2; ++round) {
        unsigned char* copy = round == 0 ? area + 4096 + pages - bytes : area + 4096;
        const auto moved = [&](uintptr_t address) {
            return address - original.start + reinterpret_cast<uintptr_t>(copy);
        };
        shim::CfiSection section = original;
        section.header = moved(original.header);
        section.start = reinterpret_cast<uintptr_t>(copy);
        section.end = section.start + bytes;
        for (int i = 0; i < 200; ++i) {
            memcpy(copy, reinterpret_cast<const void*>(original.start), bytes);
            const size_t header_at = original.header - original.start;
            for (size_t damage = random() % 2000; damage > 0; --damage) {
                copy[header_at + random() % (bytes - header_at)] = static_cast<unsigned char>(random());
            }
            for (int j = 0; j < 200; ++j) {
                FrameRules rules;
                const uintptr_t pc = section.start + random() % (2 * bytes);
                if (shim::find_frame_rules(section, pc - bytes / 2, rules)) {
                    shim::Row row;
                    shim::pack_rules(rules, pc, row);
                    ++found;
                }
            }
        }
    }
    CHECK(found > 0);
    munmap(area, pages + 8192);
}
