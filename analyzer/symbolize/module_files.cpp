// SPDX-License-Identifier: Apache-2.0
#include "analyzer/symbolize/module_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace vramtrace::symbolize {

std::vector<std::string> candidate_files(const ModuleKey& module, const SearchPaths& paths) {
    std::vector<std::string> files;
    if (!module.path.empty() && module.path[0] == '/') files.push_back(paths.sysroot + module.path);
    if (module.build_id.size() > 2) {
        const std::string name =
            "/.build-id/" + module.build_id.substr(0, 2) + "/" + module.build_id.substr(2) + ".debug";
        for (const std::string& directory : paths.debug_directories) files.push_back(directory + name);
    }
    return files;
}

std::string debuginfo_path(const SearchPaths& paths) {
    // '-' would switch the check sums of debuglink files off; ":.debug" looks beside the module.
    std::string joined = ":.debug";
    for (const std::string& directory : paths.debug_directories) joined += ":" + directory;
    return joined;
}

int open_regular(const std::string& path) {
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor < 0) return -1;
    struct stat status {};
    if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode)) return descriptor;
    close(descriptor);
    errno = EINVAL;
    return -1;
}

std::string build_id_text(const void* bytes, size_t length) {
    constexpr char kDigits[] = "0123456789abcdef";
    const auto* byte = static_cast<const unsigned char*>(bytes);
    std::string text;
    for (size_t i = 0; i < length; ++i) {
        text += kDigits[byte[i] >> 4U];
        text += kDigits[byte[i] & 15U];
    }
    return text;
}

}  // namespace vramtrace::symbolize
