// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

// HOW THE SHIM GETS INTO THE JOB: LD_PRELOAD, whose value the loader splits at blanks and colons.
namespace vramtrace::cli {

struct Installation {
    std::string program_directory;  // of the running vramtrace, symbolic links resolved
    std::string library;            // libvramtrace.so, empty if it was not found
    std::string collector;          // vramtrace-collect, empty if it was not found
    std::string looked_in;          // for the sentence that says so
};
// `library` if it was named, else where an installation has it.
Installation find_installation(const std::string& library);

// A path to `library` that LD_PRELOAD can carry: itself, or a symbolic link to it in a directory of our own (0700, owned
// by us, under /tmp) if its path has blanks or colons. The directory stays: children of the job may need it long after
// us. Empty with a sentence in `why` if that is impossible.
std::string preloadable_path(const std::string& library, std::string& why);

// The value of LD_PRELOAD with `path` first and everything that `existing` names behind it.
std::string preload_value(const std::string& path, const char* existing);

// Why a preloaded library cannot get into `command` ("it is statically linked", "it runs with raised privileges"), empty
// if nothing speaks against it.
std::string preload_obstacle(const std::string& command);

// The file that execvp would start for `command`, empty if none.
std::string find_command(const std::string& command);

}  // namespace vramtrace::cli
