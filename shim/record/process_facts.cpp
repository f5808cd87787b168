// SPDX-License-Identifier: Apache-2.0
#include "shim/record/process_facts.h"

#include <sys/mman.h>
#include <sys/utsname.h>

#include <cstring>
#include <initializer_list>

#include "trace/definition.h"
#include "trace/ring/definition_table.h"
#include "trace/ring/system_calls.h"

namespace vramtrace::shim {

namespace {

using trace::KeepErrno;
namespace sys = trace::sys;

constexpr size_t kLongestCommand = 64U << 10;

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool contains_ignoring_case(const char* text, size_t bytes, const char* word) {
    const size_t length = strlen(word);
    for (size_t at = 0; at + length <= bytes; ++at) {
        size_t same = 0;
        while (same < length && lower(text[at + same]) == word[same]) ++same;
        if (same == length) return true;
    }
    return false;
}

bool names_secret(const char* name, size_t bytes) {
    for (const char* word : {"token", "passw", "passphrase", "secret", "key", "credential", "auth"}) {
        if (contains_ignoring_case(name, bytes, word)) return true;
    }
    return false;
}

class Output {
public:
    Output(char* buffer, size_t room) : buffer_(buffer), room_(room) {}
    void put(const char* text, size_t bytes) {
        const size_t part = bytes < room_ - used_ ? bytes : room_ - used_;
        std::memcpy(buffer_ + used_, text, part);
        used_ += part;
    }
    size_t used() const { return used_; }

private:
    char* buffer_;
    size_t room_;
    size_t used_ = 0;
};

// scheme://user:password@host: the password's place, or false.
bool find_password(const char* text, size_t bytes, size_t& begin, size_t& end) {
    const auto* scheme = static_cast<const char*>(memmem(text, bytes, "://", 3));
    if (scheme == nullptr) return false;
    const auto from = static_cast<size_t>(scheme - text) + 3;
    size_t colon = 0;
    for (size_t i = from; i < bytes && text[i] != '/'; ++i) {
        if (text[i] == ':' && colon == 0) colon = i;
        if (text[i] == '@' && colon != 0) {
            begin = colon + 1;
            end = i;
            return true;
        }
    }
    return false;
}

void put_masked(Output& out, const char* argument, size_t bytes, bool secret) {
    if (secret) return out.put("***", 3);
    const auto* equals = static_cast<const char*>(memchr(argument, '=', bytes));
    if (equals != nullptr && names_secret(argument, static_cast<size_t>(equals - argument))) {
        out.put(argument, static_cast<size_t>(equals - argument) + 1);
        return out.put("***", 3);
    }
    size_t begin = 0, end = 0;
    if (find_password(argument, bytes, begin, end)) {
        out.put(argument, begin);
        out.put("***", 3);
        return out.put(argument + end, bytes - end);
    }
    out.put(argument, bytes);
}

// Field 22 of /proc/self/stat; the name in field 2 may contain anything, so count from its last ')'.
uint64_t read_start_time() {
    char text[1024];
    if (sys::read_file("/proc/self/stat", text, sizeof text) <= 0) return 0;
    const char* at = strrchr(text, ')');
    if (at == nullptr) return 0;
    for (unsigned field = 2; field < 22; ++field) {
        at = strchr(at + 1, ' ');
        if (at == nullptr) return 0;
    }
    uint64_t value = 0;
    for (++at; *at >= '0' && *at <= '9'; ++at) value = value * 10 + static_cast<uint64_t>(*at - '0');
    return value;
}

// Scratch memory for one moment: not the job's heap, not its stack.
class Scratch {
public:
    explicit Scratch(size_t bytes) : bytes_(bytes) {
        void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pages != MAP_FAILED) data_ = static_cast<char*>(pages);
    }
    ~Scratch() {
        if (data_ != nullptr) munmap(data_, bytes_);
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    char* data() const { return data_; }

private:
    char* data_ = nullptr;
    size_t bytes_;
};

size_t decimal(uint64_t value, char* text) {
    char digits[20];
    size_t count = 0;
    do digits[count++] = static_cast<char>('0' + value % 10);
    while ((value /= 10) != 0);
    for (size_t i = 0; i < count; ++i) text[i] = digits[count - 1 - i];
    return count;
}

}  // namespace

size_t mask_command_line(const char* command, size_t bytes, char* masked, size_t room) {
    Output out(masked, room);
    bool next_is_secret = false;
    for (size_t at = 0; at < bytes;) {
        const size_t length = strnlen(command + at, bytes - at);
        const char* argument = command + at;
        const bool option = length > 1 && argument[0] == '-';
        put_masked(out, argument, length, next_is_secret && !option);
        out.put("", 1);
        // "--token VALUE": an option without '=' whose name says so hides what follows, unless that is an option too.
        next_is_secret = option && memchr(argument, '=', length) == nullptr && names_secret(argument, length);
        at += length + 1;
    }
    return out.used();
}

void fill_identity(trace::ProcessIdentity& identity) {
    const KeepErrno keep_errno;
    identity.pid = static_cast<uint32_t>(syscall(SYS_getpid));
    identity.parent_pid = static_cast<uint32_t>(syscall(SYS_getppid));
    identity.start_time = read_start_time();
    struct stat facts {};
    if (syscall(SYS_newfstatat, AT_FDCWD, "/proc/self/ns/pid", &facts, 0) == 0) identity.pid_namespace = facts.st_ino;
    const long got = sys::read_file("/proc/sys/kernel/random/boot_id", identity.boot_id, sizeof identity.boot_id);
    if (got > 0 && identity.boot_id[got - 1] == '\n') identity.boot_id[got - 1] = '\0';
    utsname names{};
    if (uname(&names) == 0) {
        const size_t length = strnlen(names.nodename, sizeof identity.host - 1);
        std::memcpy(identity.host, names.nodename, length);
        identity.host[length] = '\0';
    }
    identity.open_realtime = sys::clock_ns(CLOCK_REALTIME);
    identity.open_monotonic = sys::monotonic_ns();
}

void publish_fact(trace::DefinitionTable& definitions, const char* key, const void* value, size_t bytes) {
    definitions.append(trace::DefinitionKind::Fact, {{key, strlen(key) + 1}, {value, bytes}});
}

void publish_facts(trace::DefinitionTable& definitions, const Settings& settings) {
    const KeepErrno keep_errno;
    publish_fact(definitions, trace::fact::kShimVersion, VRAMTRACE_VERSION, strlen(VRAMTRACE_VERSION));
    char number[20];
    publish_fact(definitions, trace::fact::kStackDepth, number, decimal(settings.stack_depth, number));
    if (settings.given_bytes != 0) {
        publish_fact(definitions, trace::fact::kSettings, settings.given, settings.given_bytes - 1);
    }
    // Ranges that go elsewhere; to us they come under our own name (shim/api/nvtx_injection.cpp).
    if (settings.nvtx[0] != '\0' && strstr(settings.nvtx, "libvramtrace.so") == nullptr) {
        publish_fact(definitions, trace::fact::kNvtx, settings.nvtx, strlen(settings.nvtx));
    }
    const Scratch scratch(2 * kLongestCommand);
    char* text = scratch.data();
    if (text == nullptr) return;
    const long command = sys::read_file("/proc/self/cmdline", text, kLongestCommand);
    if (command > 0) {
        char* masked = text + kLongestCommand;
        const size_t bytes = mask_command_line(text, static_cast<size_t>(command), masked, kLongestCommand);
        publish_fact(definitions, trace::fact::kCommand, masked, bytes > 0 ? bytes - 1 : 0);
    }
    const long executable = syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", text, kLongestCommand);
    if (executable > 0) publish_fact(definitions, trace::fact::kExecutable, text, static_cast<size_t>(executable));
    const long directory = syscall(SYS_getcwd, text, kLongestCommand);  // with its NUL
    if (directory > 1)
        publish_fact(definitions, trace::fact::kWorkingDirectory, text, static_cast<size_t>(directory) - 1);
}

}  // namespace vramtrace::shim
