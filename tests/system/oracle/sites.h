// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <utility>

// Call sites for the oracle: kSites functions with names and addresses of their own. The recorder tells them apart by
// call stack, the simulator's ledger by tag; both must come to the same sums.
namespace oracle {

constexpr size_t kSites = 24;

struct Job;  // what a site is asked to do (oracle_program.cpp)
void perform(Job& job);

template <size_t Site>
[[gnu::noinline]] void site(Job& job) {
    perform(job);
    asm volatile("" ::"r"(&job) : "memory");  // no tail call: the frame must stay on the stack
}

template <size_t... Index>
constexpr std::array<void (*)(Job&), sizeof...(Index)> make_sites(std::index_sequence<Index...>) {
    return {site<Index>...};
}

inline constexpr auto kSiteFunctions = make_sites(std::make_index_sequence<kSites>());

}  // namespace oracle
