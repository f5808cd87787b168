// SPDX-License-Identifier: Apache-2.0
#include "analyzer/accounts/phase_cut.h"

#include <fnmatch.h>

namespace vramtrace::accounts {

bool path_matches(const std::string& pattern, std::string_view path) {
    for (std::string_view rest = path;;) {
        // Brackets that do not close and the like are an error of fnmatch's: then only the very text matches.
        if (rest == pattern || fnmatch(pattern.c_str(), std::string(rest).c_str(), 0) == 0) return true;
        const size_t next = rest.find('/');
        if (next == std::string_view::npos) return false;
        rest.remove_prefix(next + 1);
    }
}

}  // namespace vramtrace::accounts
