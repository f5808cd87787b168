// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace vramtrace::trace {

// What was given cannot be read at all. what() is one sentence for the user, with the file's name in it.
class InputError : public std::runtime_error {
public:
    explicit InputError(const std::string& sentence) : std::runtime_error(sentence) {}
};

}  // namespace vramtrace::trace
