// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace vramtrace {

enum class JsonFile { Good, Missing, Bad };

// Reads the JSON object in a file of a trace directory, in which anybody may have put anything: a pipe is not waited for, a
// device is not read, and neither size nor nesting nor number of values costs more memory than a trace is worth.
// Bad: `problem` is a sentence about it without its full stop, with the file's name.
JsonFile read_json_object(const std::string& path, size_t most_bytes, nlohmann::json& document, std::string& problem);

}  // namespace vramtrace
