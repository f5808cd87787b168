// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <vector>

namespace vramtrace::symbolize {

// The debugging information of one file by address. Reads the units' ranges once and each unit's functions when it is
// first asked about: a library has thousands of units, a trace touches a few.
//
//     address → unit (ranges of all units, sorted) → function (ranges of its functions, sorted) → inlined calls inside
class FunctionIndex {
public:
    explicit FunctionIndex(Dwarf* dwarf);

    struct Place {
        Dwarf_Die* unit = nullptr;      // for the line table; nullptr: the address has no debugging information
        Dwarf_Die* tree = nullptr;      // for file numbers: the split unit if there is one
        bool split_missing = false;     // the unit names a file of split debugging information that was not found
        std::vector<Dwarf_Die> scopes;  // the function, then the inlined calls in it, outermost first
    };
    Place find(uint64_t address);

private:
    struct Range {
        uint64_t start;
        uint64_t end;
        size_t index;
    };
    struct Function {
        Dwarf_Die die;
    };
    struct Unit {
        Dwarf_Die die{};
        Dwarf_Die tree{};
        bool read = false;
        bool split_missing = false;
        std::vector<Range> ranges;
        std::vector<Function> functions;
    };
    static void add_ranges(Dwarf_Die* die, size_t index, std::vector<Range>& ranges);
    static const Range* lookup(const std::vector<Range>& ranges, uint64_t address);
    static void read_functions(Unit& unit);
    static void collect(Dwarf_Die parent, unsigned depth, Unit& unit);

    std::vector<Unit> units_;
    std::vector<Range> ranges_;
};

}  // namespace vramtrace::symbolize
