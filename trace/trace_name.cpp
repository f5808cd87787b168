// SPDX-License-Identifier: Apache-2.0
#include "trace/trace_name.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace vramtrace::trace {

namespace {

// Appends to a buffer and remembers that something did not fit. Always NUL-terminated.
class Text {
public:
    Text(char* buffer, size_t bytes) : buffer_(buffer), bytes_(bytes) {
        if (bytes_ != 0) buffer_[0] = '\0';
    }
    void put(char c) {
        if (used_ + 1 >= bytes_) {
            fits_ = false;
            return;
        }
        buffer_[used_++] = c;
        buffer_[used_] = '\0';
    }
    void put(const char* text) {
        for (; *text != '\0'; ++text) put(*text);
    }
    void put_number(uint64_t value) {
        char digits[20];
        unsigned count = 0;
        do digits[count++] = static_cast<char>('0' + value % 10);
        while ((value /= 10) != 0);
        while (count > 0) put(digits[--count]);
    }
    size_t length() const { return fits_ ? used_ : 0; }

private:
    char* buffer_;
    size_t bytes_;
    size_t used_ = 0;
    bool fits_ = true;
};

bool is_name_character(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

// A name in a path: no directory of its own, no dots.
void put_host(Text& text, const ProcessIdentity& identity) {
    size_t length = 0;
    for (; length < sizeof identity.host && identity.host[length] != '\0'; ++length) {
        text.put(is_name_character(identity.host[length]) ? identity.host[length] : '_');
    }
    if (length == 0) text.put("unknown");
}

const char* skip_digits(const char* at) {
    while (*at >= '0' && *at <= '9') ++at;
    return at;
}

bool is_suffix(const char* text) {
    if (std::strcmp(text, suffix::kDefinitions) == 0 || std::strcmp(text, suffix::kContainer) == 0 ||
        std::strcmp(text, suffix::kWhere) == 0) {
        return true;
    }
    constexpr size_t kLength = sizeof suffix::kRing - 1;
    if (std::strncmp(text, suffix::kRing, kLength) != 0) return false;
    text += kLength;
    if (*text == '\0') return true;
    return *text == '.' && text[1] != '\0' && *skip_digits(text + 1) == '\0';
}

}  // namespace

size_t trace_stem(const ProcessIdentity& identity, char* buffer, size_t buffer_bytes) {
    Text text(buffer, buffer_bytes);
    put_host(text, identity);
    text.put('.');
    text.put_number(identity.pid);
    text.put('.');
    text.put_number(identity.start_time);
    text.put('.');
    text.put_number(identity.counter);
    return text.length();
}

size_t expand_pattern(const char* pattern, const ProcessIdentity& identity, const char* rank, char* buffer,
                      size_t buffer_bytes) {
    Text text(buffer, buffer_bytes);
    for (; *pattern != '\0'; ++pattern) {
        if (*pattern != '%') {
            text.put(*pattern);
            continue;
        }
        switch (*++pattern) {
            case 'h':
                put_host(text, identity);
                break;
            case 'p':
                text.put_number(identity.pid);
                break;
            case 't':
                text.put_number(identity.open_realtime / 1'000'000'000U);
                break;
            case 'n':
                if (rank == nullptr || *rank == '\0') rank = "0";
                for (const char* at = rank; *at != '\0'; ++at) text.put(is_name_character(*at) ? *at : '_');
                break;
            case '%':
                text.put('%');
                break;
            default:
                return 0;
        }
    }
    return text.length();
}

size_t ring_path(const char* prefix, uint32_t segment, char* buffer, size_t buffer_bytes) {
    Text text(buffer, buffer_bytes);
    text.put(prefix);
    text.put(suffix::kRing);
    if (segment != 0) {
        text.put('.');
        text.put_number(segment);
    }
    return text.length();
}

size_t suffixed_path(const char* prefix, const char* suffix, char* buffer, size_t buffer_bytes) {
    Text text(buffer, buffer_bytes);
    text.put(prefix);
    text.put(suffix);
    return text.length();
}

size_t ring_prefix(const char* directory, const char* stem, char* buffer, size_t buffer_bytes) {
    Text own(buffer, buffer_bytes);
    own.put(directory);
    own.put('/');
    own.put(stem);
    const size_t own_length = own.length();
    if (own_length == 0) return 0;
    own.put(suffix::kWhere);
    if (own.length() == 0) return 0;
    // O_NONBLOCK: a named pipe must not hang anybody.
    const long descriptor = syscall(SYS_openat, AT_FDCWD, buffer, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
    buffer[own_length] = '\0';
    if (descriptor < 0) return errno == ENOENT ? own_length : 0;
    size_t used = 0;
    while (used + 1 < buffer_bytes) {
        const long got = syscall(SYS_read, descriptor, buffer + used, buffer_bytes - 1 - used);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        used += static_cast<size_t>(got);
    }
    syscall(SYS_close, descriptor);
    // One absolute path and one newline, nothing else: anything shorter was cut.
    if (used < 3 || buffer[0] != '/' || buffer[used - 1] != '\n') return 0;
    buffer[--used] = '\0';
    if (std::memchr(buffer, '\n', used) != nullptr || std::memchr(buffer, '\0', used) != nullptr) return 0;
    return used;
}

size_t stem_length(const char* name, const char** suffix_begin) {
    const char* at = name;
    while (is_name_character(*at)) ++at;
    if (at == name) return 0;
    for (unsigned part = 0; part < 3; ++part) {
        if (*at != '.') return 0;
        const char* end = skip_digits(at + 1);
        if (end == at + 1) return 0;
        at = end;
    }
    if (!is_suffix(at) || static_cast<size_t>(at - name) >= kMaxStem) return 0;
    if (suffix_begin != nullptr) *suffix_begin = at;
    return static_cast<size_t>(at - name);
}

}  // namespace vramtrace::trace
