// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

// WHOSE CODE A FRAME IS, in a process that runs Python: a training script's line is what its author looks for, not that
// of the library it calls.
namespace vramtrace::symbolize {

// The lower the nearer to the reader.
enum class Owner : uint8_t {
    Program,    // the user's own
    Package,    // installed: site-packages, dist-packages, a launcher in bin/
    Framework,  // PyTorch, TensorFlow, JAX, CuPy and what they are made of
    Standard,   // Python's library, the interpreter, the C library
};

Owner owner_of_python(std::string_view file, std::string_view function, uint32_t line);
Owner owner_of_native(std::string_view module);

// "AddmmBackward0" of "torch::autograd::generated::AddmmBackward0::apply(…)", empty for any other function: on a thread
// of backward it is all that says what was computed.
std::string autograd_node(std::string_view function);

}  // namespace vramtrace::symbolize
