// SPDX-License-Identifier: Apache-2.0
#include "analyzer/files/json_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

namespace vramtrace {

namespace {

constexpr size_t kDeepest = 64;             // ours nest six deep
constexpr size_t kBytesOfValue = 100;       // what the parser needs for one, about
constexpr size_t kMostMemory = 768U << 20;  // for all values together

// What it would cost to parse `text`, seen from its brackets and commas. False if that is too much.
bool affordable(const std::string& text) {
    size_t depth = 0, values = 0;
    bool in_string = false;
    for (size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (in_string) {
            if (c == '\\') ++i;
            in_string = c != '"';
        } else if (c == '"') {
            in_string = true;
        } else if (c == '[' || c == '{') {
            ++values;
            if (++depth > kDeepest) return false;
        } else if (c == ']' || c == '}') {
            if (depth-- == 0) return false;
        } else if (c == ',') {
            ++values;
        }
    }
    return values * kBytesOfValue + text.size() <= kMostMemory;
}

bool read_whole(int descriptor, std::string& text) {
    for (size_t done = 0; done < text.size();) {
        const ssize_t got = read(descriptor, text.data() + done, text.size() - done);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return false;
        if (got == 0) text.resize(done);  // cut meanwhile
        done += static_cast<size_t>(got);
    }
    return true;
}

}  // namespace

JsonFile read_json_object(const std::string& path, size_t most_bytes, nlohmann::json& document, std::string& problem) {
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor < 0) {
        if (errno == ENOENT) return JsonFile::Missing;
        problem = path + " cannot be opened: " + std::strerror(errno);
        return JsonFile::Bad;
    }
    struct stat status {};
    std::string text;
    problem.clear();
    if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
        problem = path + " is not a file";
    } else if (static_cast<uint64_t>(status.st_size) > most_bytes) {
        problem = path + " is too large to be what its name says";
    } else {
        text.resize(static_cast<size_t>(status.st_size));
        if (!read_whole(descriptor, text)) problem = path + " cannot be read: " + std::strerror(errno);
    }
    close(descriptor);
    if (!problem.empty()) return JsonFile::Bad;
    if (affordable(text)) document = nlohmann::json::parse(text, nullptr, false);
    if (document.is_object()) return JsonFile::Good;
    problem = path + " is damaged";
    return JsonFile::Bad;
}

}  // namespace vramtrace
