// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

// `run --framework-detail`: variables that make a framework ask the driver for each buffer instead of handing out pieces
// of one great arena, which nobody can look into from outside. They change how the job allocates, so they are only set
// when asked for, and everything that shows the trace says so.
namespace vramtrace::cli {

struct SetVariable {
    const char* name;
    const char* value;
};

// One framework a row. No variables: nothing to set, and `why` says so; else `why` says what changes.
struct FrameworkDetail {
    const char* framework;
    std::vector<SetVariable> variables;
    const char* why;
};
const std::vector<FrameworkDetail>& framework_details();

struct ChosenVariable {
    std::string framework, name, value;
    bool by_user = false;  // it was set already and stays as it is
};
// `look_up` is getenv.
std::vector<ChosenVariable> choose_framework_detail(const std::function<const char*(const char*)>& look_up);

// What run says on stderr, one line a variable.
std::string detail_line(const ChosenVariable& variable);

// For --help: the rows as text.
std::string framework_detail_help();

}  // namespace vramtrace::cli
