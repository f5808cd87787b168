// SPDX-License-Identifier: Apache-2.0
// A stand-in for libcuda.so.1 that does nothing but write down what it was asked: each function of the look-up table
// answers success (or what a test told it) and adds its exported name to a list.
#pragma once

#include <string>
#include <vector>

namespace recording_driver {

struct Question {
    std::string name;
    int version;
    unsigned long long flags;
    bool wanted_status;
};

/// All look-ups since the process began, in order.
const std::vector<Question>& questions();

/// Exported names of the functions called since the last clear_calls(); questions for
/// versions, counts, the current context and its device left out.
std::vector<std::string> calls();
void clear_calls();

/// What a function answers from now on; 0 again for success.
void set_result(const std::string& symbol, int code);

}  // namespace recording_driver
