// SPDX-License-Identifier: Apache-2.0
#include "analyzer/symbolize/function_index.h"

#include <dwarf.h>

#include <algorithm>

namespace vramtrace::symbolize {

namespace {

// Deeper than any compiler nests; damaged files may nest without end.
constexpr unsigned kDeepestTree = 128;
constexpr size_t kMostInlinedCalls = 256;
constexpr unsigned kOverlapDepth = 64;

bool may_hold_functions(int tag) {
    switch (tag) {
        case DW_TAG_subprogram:
        case DW_TAG_namespace:
        case DW_TAG_class_type:
        case DW_TAG_structure_type:
        case DW_TAG_union_type:
        case DW_TAG_lexical_block:
        case DW_TAG_inlined_subroutine:
        case DW_TAG_module:
            return true;
        default:
            return false;
    }
}

// The child of `parent` whose code holds `address` and which is an inlined call or may contain one.
bool inner_scope(Dwarf_Die parent, uint64_t address, Dwarf_Die& found) {
    Dwarf_Die child;
    if (dwarf_child(&parent, &child) != 0) return false;
    do {
        const int tag = dwarf_tag(&child);
        const bool block = tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block || tag == DW_TAG_try_block ||
                           tag == DW_TAG_catch_block;
        if (block && dwarf_haspc(&child, address) > 0) {
            found = child;
            return true;
        }
    } while (dwarf_siblingof(&child, &child) == 0);
    return false;
}

}  // namespace

FunctionIndex::FunctionIndex(Dwarf* dwarf) {
    Dwarf_CU* cursor = nullptr;
    Dwarf_CU* next = nullptr;
    Dwarf_Die unit_die;
    Dwarf_Die split_die;
    uint8_t type = 0;
    Dwarf_Half version = 0;
    while (dwarf_get_units(dwarf, cursor, &next, &version, &type, &unit_die, &split_die) == 0) {
        cursor = next;
        if (type == DW_UT_type || type == DW_UT_split_type) continue;
        Unit unit;
        unit.die = unit_die;
        const bool split = type == DW_UT_skeleton && dwarf_tag(&split_die) == DW_TAG_compile_unit;
        unit.tree = split ? split_die : unit_die;
        unit.split_missing = type == DW_UT_skeleton && !split;
        units_.push_back(std::move(unit));
        add_ranges(&units_.back().die, units_.size() - 1, ranges_);
    }
    std::sort(ranges_.begin(), ranges_.end(), [](const Range& a, const Range& b) { return a.start < b.start; });
}

void FunctionIndex::add_ranges(Dwarf_Die* die, size_t index, std::vector<Range>& ranges) {
    Dwarf_Addr base = 0;
    Dwarf_Addr start = 0;
    Dwarf_Addr end = 0;
    ptrdiff_t offset = 0;
    while ((offset = dwarf_ranges(die, offset, &base, &start, &end)) > 0) {
        // Linkers leave discarded functions at address 0.
        if (start < end && start != 0) ranges.push_back({start, end, index});
    }
}

const FunctionIndex::Range* FunctionIndex::lookup(const std::vector<Range>& ranges, uint64_t address) {
    auto at = std::upper_bound(ranges.begin(), ranges.end(), address,
                               [](uint64_t wanted, const Range& range) { return wanted < range.start; });
    for (unsigned step = 0; step < kOverlapDepth && at != ranges.begin(); ++step) {
        --at;
        if (address < at->end) return &*at;
    }
    return nullptr;
}

void FunctionIndex::collect(Dwarf_Die parent, unsigned depth, Unit& unit) {
    if (depth > kDeepestTree) return;
    Dwarf_Die child;
    if (dwarf_child(&parent, &child) != 0) return;
    do {
        const int tag = dwarf_tag(&child);
        if (tag == DW_TAG_subprogram) {
            const size_t known = unit.ranges.size();
            add_ranges(&child, unit.functions.size(), unit.ranges);
            if (unit.ranges.size() != known) unit.functions.push_back({child});
        }
        if (may_hold_functions(tag)) collect(child, depth + 1, unit);
    } while (dwarf_siblingof(&child, &child) == 0);
}

void FunctionIndex::read_functions(Unit& unit) {
    unit.read = true;
    collect(unit.tree, 0, unit);
    std::sort(unit.ranges.begin(), unit.ranges.end(), [](const Range& a, const Range& b) { return a.start < b.start; });
}

FunctionIndex::Place FunctionIndex::find(uint64_t address) {
    Place place;
    const Range* in_unit = lookup(ranges_, address);
    if (in_unit == nullptr) return place;
    Unit& unit = units_[in_unit->index];
    if (!unit.read) read_functions(unit);
    place.unit = &unit.die;
    place.tree = &unit.tree;
    place.split_missing = unit.split_missing;
    const Range* in_function = lookup(unit.ranges, address);
    if (in_function == nullptr) return place;
    Dwarf_Die scope = unit.functions[in_function->index].die;
    place.scopes.push_back(scope);
    for (unsigned depth = 0; depth < kDeepestTree && inner_scope(scope, address, scope); ++depth) {
        if (dwarf_tag(&scope) == DW_TAG_inlined_subroutine) place.scopes.push_back(scope);
        if (place.scopes.size() > kMostInlinedCalls) break;
    }
    return place;
}

}  // namespace vramtrace::symbolize
