// SPDX-License-Identifier: Apache-2.0
#include "shim/record/framework_facts.h"

#include <string.h>

#include "shim/real/elf_symbols.h"
#include "shim/record/recorder.h"
#include "shim/settings.h"
#include "trace/definition.h"
#include "trace/ring/system_calls.h"

namespace vramtrace::shim {

namespace {

namespace sys = trace::sys;

constexpr size_t kLongestPath = 1024;
constexpr size_t kLongestVersion = 64;

// A framework is known by a library that every build of it has, under this beginning of its file name.
struct Framework {
    const char* library;
    const char* name;
    const char* version_file;  // relative to the library's folder; Python source
    const char* version_variable;
};
constexpr Framework kFrameworks[] = {
    {"libc10.so", "PyTorch", "../version.py", "__version__"},
};
constexpr size_t kFrameworkCount = sizeof kFrameworks / sizeof *kFrameworks;

struct Found {
    char path[kFrameworkCount][kLongestPath];  // "" = not loaded
};

void define_fact(const char* key, const char* value, size_t value_bytes) {
    char body[32 + kLongestPath];
    const size_t key_bytes = strlen(key) + 1;
    if (key_bytes > 32) return;
    if (value_bytes > kLongestPath) value_bytes = kLongestPath;
    memcpy(body, key, key_bytes);
    memcpy(body + key_bytes, value, value_bytes);
    define(trace::DefinitionKind::Fact, body, static_cast<uint32_t>(key_bytes + value_bytes));
}

// From the file beside the library; else what its own name says ("libc10.so.2.6", as distributions have it).
size_t version_of(const Framework& framework, const char* path, char* version, size_t room) {
    const char* file = file_name_of(path);
    const auto folder_bytes = static_cast<size_t>(file - path);
    char name[kLongestPath + 64];
    if (folder_bytes + strlen(framework.version_file) < sizeof name) {
        memcpy(name, path, folder_bytes);
        strcpy(name + folder_bytes, framework.version_file);
        char source[4096];
        const long bytes = sys::read_file(name, source, sizeof source);
        if (bytes > 0) {
            const size_t length =
                python_assignment(source, static_cast<size_t>(bytes), framework.version_variable, version, room);
            if (length > 0) return length;
        }
    }
    const char* suffix = file + strlen(framework.library);
    if (*suffix != '.') return 0;
    const size_t length = strnlen(suffix + 1, room);
    memcpy(version, suffix + 1, length);
    return length;
}

void publish_framework(const Framework& framework, const char* path) {
    char text[kLongestVersion + 32];
    size_t used = strlen(framework.name);
    memcpy(text, framework.name, used);
    char version[kLongestVersion];
    const size_t length = version_of(framework, path, version, sizeof version);
    if (length > 0) {
        text[used++] = ' ';
        memcpy(text + used, version, length);
        used += length;
    }
    define_fact(trace::fact::kFramework, text, used);
    define_fact(trace::fact::kFrameworkPath, path, strlen(path));
}

}  // namespace

size_t python_assignment(const char* source, size_t bytes, const char* name, char* value, size_t room) {
    const size_t name_bytes = strlen(name);
    const char* const end = source + bytes;
    for (const char* line = source; line < end;) {
        const auto* newline = static_cast<const char*>(memchr(line, '\n', static_cast<size_t>(end - line)));
        const char* const line_end = newline != nullptr ? newline : end;
        const char* at = line;
        line = line_end + 1;
        if (static_cast<size_t>(line_end - at) <= name_bytes || memcmp(at, name, name_bytes) != 0) continue;
        at += name_bytes;
        while (at < line_end && *at == ' ') ++at;
        if (at == line_end || *at++ != '=') continue;
        while (at < line_end && *at == ' ') ++at;
        if (at == line_end || (*at != '\'' && *at != '"')) continue;
        const char quote = *at++;
        const auto* last = static_cast<const char*>(memchr(at, quote, static_cast<size_t>(line_end - at)));
        if (last == nullptr || static_cast<size_t>(last - at) > room) continue;
        memcpy(value, at, static_cast<size_t>(last - at));
        return static_cast<size_t>(last - at);
    }
    return 0;
}

void publish_framework_facts() {
    const trace::KeepErrno keep_errno;
    if (const Settings* chosen = settings()) {
        for (size_t at = 0; at < chosen->allocator_bytes;) {
            const size_t length = strlen(chosen->allocators + at);
            define_fact(trace::fact::kAllocator, chosen->allocators + at, length);
            at += length + 1;
        }
    }
    // Files are read once the loader's lock is given back.
    Found found;
    for (auto& path : found.path) path[0] = '\0';
    with_loaded_objects([&](const LoadedObjects& all) {
        for (const auto& object : all) {
            const char* file = file_name_of(object.path);
            for (size_t i = 0; i < kFrameworkCount; ++i) {
                const size_t length = strlen(kFrameworks[i].library);
                const bool named =
                    strncmp(file, kFrameworks[i].library, length) == 0 && (file[length] == '\0' || file[length] == '.');
                if (!named || found.path[i][0] != '\0' || strlen(object.path) >= kLongestPath) continue;
                strcpy(found.path[i], object.path);
            }
        }
    });
    for (size_t i = 0; i < kFrameworkCount; ++i)
        if (found.path[i][0] != '\0') publish_framework(kFrameworks[i], found.path[i]);
}

}  // namespace vramtrace::shim
