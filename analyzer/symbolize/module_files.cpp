// SPDX-License-Identifier: Apache-2.0
#include "analyzer/symbolize/module_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <set>

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

std::string files_present(const ModuleKey& module, const SearchPaths& paths, const std::string& debug_link) {
    std::string present;
    if (module.path.empty() || module.path[0] != '/') return present;
    const auto size_of = [](const std::string& path) -> std::optional<uint64_t> {
        struct stat status {};
        if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
        return static_cast<uint64_t>(status.st_size);
    };
    const std::string own = paths.sysroot + module.path;
    if (const auto size = size_of(own)) present = "module " + std::to_string(*size);

    const size_t slash = own.rfind('/');
    const std::string folder = own.substr(0, slash);
    const std::string name = debug_link.empty() ? own.substr(slash + 1) + ".debug" : debug_link;
    std::vector<std::string> places = candidate_files({"", module.build_id}, paths);
    places.push_back(folder + "/" + name);
    places.push_back(folder + "/.debug/" + name);
    for (const std::string& directory : paths.debug_directories) places.push_back(directory + folder + "/" + name);
    std::set<uint64_t> sizes;
    for (const std::string& place : places) {
        // A debug link may bear the module's own name.
        if (const auto size = place != own ? size_of(place) : std::nullopt) sizes.insert(*size);
    }
    for (const uint64_t size : sizes) present += (present.empty() ? "debug " : " debug ") + std::to_string(size);
    return present;
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
