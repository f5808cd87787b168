// SPDX-License-Identifier: Apache-2.0
#include "analyzer/symbolize/isolated_symbols.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "analyzer/symbolize/native_symbols.h"

// What the child says, over a pipe:
//   message: | u32 bytes of the rest | u8 kind | … |
//   kind 'O': opened; then u8 readable, text problem,       kind 'F': u64 address, u8 described, u32 count, count × frame
//             text debug link                                frame: text function, text file, u32 line, u8 inlined
//   kind 'E': done; then u8 units missing
//   text: u32 length, bytes
namespace vramtrace::symbolize {

namespace {

constexpr size_t kFlushAt = 64 * 1024;
constexpr uint32_t kLongestMessage = 16U << 20U;

class Outgoing {
public:
    explicit Outgoing(int descriptor) : descriptor_(descriptor) {}

    void begin(char kind) {
        start_ = bytes_.size();
        number<uint32_t>(0);
        bytes_ += kind;
    }
    void end() {
        const auto length = static_cast<uint32_t>(bytes_.size() - start_ - sizeof(uint32_t));
        std::memcpy(bytes_.data() + start_, &length, sizeof length);
        if (bytes_.size() >= kFlushAt) flush();
    }
    template <typename Number>
    void number(Number value) {
        bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    void text(const std::string& value) {
        number(static_cast<uint32_t>(value.size()));
        bytes_ += value;
    }
    void flush() {
        size_t done = 0;
        while (done < bytes_.size()) {
            const ssize_t written = write(descriptor_, bytes_.data() + done, bytes_.size() - done);
            if (written < 0 && errno == EINTR) continue;
            if (written <= 0) _exit(1);  // the reader gave up
            done += static_cast<size_t>(written);
        }
        bytes_.clear();
    }

private:
    int descriptor_;
    size_t start_ = 0;
    std::string bytes_;
};

[[noreturn]] void child(int descriptor, const ModuleKey& module, const std::vector<uint64_t>& addresses,
                        const SearchPaths& paths) {
    const rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    for (const int fatal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTERM, SIGINT}) std::signal(fatal, SIG_DFL);
    Outgoing out(descriptor);
    try {
        NativeSymbols symbols(module, paths);
        out.begin('O');
        out.number<uint8_t>(symbols.readable() ? 1 : 0);
        out.text(symbols.problem());
        out.text(symbols.debug_link());
        out.end();
        out.flush();
        if (symbols.readable()) {
            for (const uint64_t address : addresses) {
                bool described = false;
                const SourceFrames frames = symbols.at(address, &described);
                if (frames.empty()) continue;
                out.begin('F');
                out.number(address);
                out.number<uint8_t>(described ? 1 : 0);
                out.number(static_cast<uint32_t>(frames.size()));
                for (const SourceFrame& frame : frames) {
                    out.text(frame.function);
                    out.text(frame.file);
                    out.number(frame.line);
                    out.number<uint8_t>(frame.inlined ? 1 : 0);
                }
                out.end();
            }
        }
        out.begin('E');
        out.number<uint8_t>(symbols.units_missing() ? 1 : 0);
        out.end();
        out.flush();
        // Not destroyed: giving back a large library's debugging information one node at a time takes seconds.
        _exit(0);
    } catch (...) {
        _exit(1);
    }
}

// The answer so far; true once the child said that it is done.
class Incoming {
public:
    explicit Incoming(ResolvedModule& result) : result_(result) {}

    bool done() const { return done_; }
    bool broken() const { return broken_; }

    void add(const char* data, size_t length) {
        bytes_.append(data, length);
        size_t used = 0;
        while (!broken_ && bytes_.size() - used >= sizeof(uint32_t)) {
            uint32_t message = 0;
            std::memcpy(&message, bytes_.data() + used, sizeof message);
            if (message == 0 || message > kLongestMessage) broken_ = true;
            if (broken_ || bytes_.size() - used - sizeof message < message) break;
            read(std::string_view(bytes_).substr(used + sizeof message, message));
            used += sizeof message + message;
        }
        bytes_.erase(0, used);
    }

private:
    template <typename Number>
    Number number(std::string_view& rest) {
        Number value{};
        if (rest.size() < sizeof value) {
            broken_ = true;
            return value;
        }
        std::memcpy(&value, rest.data(), sizeof value);
        rest.remove_prefix(sizeof value);
        return value;
    }
    std::string text(std::string_view& rest) {
        const auto length = number<uint32_t>(rest);
        if (rest.size() < length) {
            broken_ = true;
            return {};
        }
        std::string value(rest.substr(0, length));
        rest.remove_prefix(length);
        return value;
    }
    void read(std::string_view message) {
        const char kind = message[0];
        message.remove_prefix(1);
        if (kind == 'E') {
            done_ = true;
            result_.units_missing = number<uint8_t>(message) != 0;
        }
        if (kind == 'O') {
            result_.readable = number<uint8_t>(message) != 0;
            result_.problem = text(message);
            result_.debug_link = text(message);
        }
        if (kind != 'F') return;
        const auto address = number<uint64_t>(message);
        const bool described = number<uint8_t>(message) != 0;
        const auto count = number<uint32_t>(message);
        SourceFrames frames;
        for (uint32_t i = 0; i < count && !broken_; ++i) {
            SourceFrame frame;
            frame.function = text(message);
            frame.file = text(message);
            frame.line = number<uint32_t>(message);
            frame.inlined = number<uint8_t>(message) != 0;
            frames.push_back(std::move(frame));
        }
        if (broken_) return;
        result_.frames.emplace(address, std::move(frames));
        if (described) result_.described.insert(address);
    }

    ResolvedModule& result_;
    std::string bytes_;
    bool done_ = false;
    bool broken_ = false;
};

// Reads until the child is done, dead or silent for too long. Says what went wrong.
std::string listen(int descriptor, Incoming& incoming, int patience_ms) {
    std::vector<char> buffer(kFlushAt);
    for (;;) {
        pollfd waiting = {descriptor, POLLIN, 0};
        const int ready = poll(&waiting, 1, patience_ms);
        if (ready < 0 && errno == EINTR) continue;
        if (ready == 0) return "reading it took too long and was given up";
        const ssize_t got = read(descriptor, buffer.data(), buffer.size());
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return {};
        incoming.add(buffer.data(), static_cast<size_t>(got));
        if (incoming.broken()) return "its reader answered nonsense";
    }
}

}  // namespace

ResolvedModule resolve_isolated(const ModuleKey& module, const std::vector<uint64_t>& addresses,
                                const SearchPaths& paths, int patience_ms) {
    ResolvedModule result;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        result.problem = std::string("no pipe: ") + std::strerror(errno);
        return result;
    }
    const pid_t reader = fork();
    if (reader == 0) {
        close(ends[0]);
        child(ends[1], module, addresses, paths);
    }
    close(ends[1]);
    if (reader < 0) {
        close(ends[0]);
        result.problem = std::string("no process to read it: ") + std::strerror(errno);
        return result;
    }
    Incoming incoming(result);
    std::string trouble = listen(ends[0], incoming, patience_ms);
    close(ends[0]);
    if (!trouble.empty()) kill(reader, SIGKILL);
    int status = 0;
    while (waitpid(reader, &status, 0) < 0 && errno == EINTR) {
    }
    if (trouble.empty() && !incoming.done()) {
        trouble = WIFSIGNALED(status)
                      ? "it is damaged: reading it ended with signal " + std::to_string(WTERMSIG(status))
                      : "reading it failed";
    }
    if (!trouble.empty()) result.problem = trouble;
    return result;
}

}  // namespace vramtrace::symbolize
