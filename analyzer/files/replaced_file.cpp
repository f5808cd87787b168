// SPDX-License-Identifier: Apache-2.0
#include "analyzer/files/replaced_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace vramtrace {

bool replace_file(const std::string& path, const std::string& text, std::string& why) {
    constexpr char kSuffix[] = ".new";
    std::string draft = path + "-XXXXXX" + kSuffix;
    const int descriptor = mkostemps(draft.data(), sizeof kSuffix - 1, O_CLOEXEC);
    bool good = descriptor >= 0;
    for (size_t done = 0; good && done < text.size();) {
        const ssize_t written = write(descriptor, text.data() + done, text.size() - done);
        if (written < 0 && errno == EINTR) continue;
        good = written > 0;
        if (good) done += static_cast<size_t>(written);
    }
    int error = errno;
    if (descriptor >= 0 && close(descriptor) != 0 && good) {
        good = false;
        error = errno;
    }
    if (good && rename(draft.c_str(), path.c_str()) != 0) {
        good = false;
        error = errno;
    }
    if (!good) {
        if (descriptor >= 0) unlink(draft.c_str());
        why = "cannot write " + path + ": " + std::strerror(error);
    }
    return good;
}

}  // namespace vramtrace
