// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/scratch_directory.h"
#include "trace/ring/definition_image.h"
#include "trace/ring/ring_file.h"
#include "trace/trace_name.h"

namespace vramtrace::test {

struct Ended {
    int exit_code = -1;  // −1: by a signal
    int signal = 0;
    std::string stderr_text;
};

// Runs `work` in a child of its own: recording is one to a process. Environment and limits are set there, too.
inline Ended in_child(const std::function<int()>& work) {
    const ScratchDirectory scratch;
    const std::string err = scratch.file("stderr");
    const pid_t child = fork();
    if (child == 0) {
        const int file = open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        dup2(file, 2);
        close(file);
        _exit(work());
    }
    Ended ended;
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status)) ended.exit_code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) ended.signal = WTERMSIG(status);
    std::ifstream in(err);
    ended.stderr_text.assign(std::istreambuf_iterator<char>(in), {});
    return ended;
}

inline std::vector<std::string> names_in(const std::string& directory) {
    std::vector<std::string> names;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(directory, ignored)) {
        names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
}

inline std::vector<std::string> stems_in(const std::string& directory) {
    std::set<std::string> stems;
    for (const std::string& name : names_in(directory)) {
        const char* suffix = nullptr;
        const size_t length = trace::stem_length(name.c_str(), &suffix);
        if (length != 0 && std::string(suffix) == ".ring") stems.insert(name.substr(0, length));
    }
    return {stems.begin(), stems.end()};
}

// What a dead process has left.
struct LeftTrace {
    LeftTrace(const std::string& directory, const std::string& stem) {
        char prefix[trace::kMaxPath];
        REQUIRE(trace::ring_prefix(directory.c_str(), stem.c_str(), prefix, sizeof prefix) != 0);
        files = std::make_unique<trace::RingFiles>(prefix, trace::FileMode::ReadOnly, false);
        REQUIRE(files->open() == trace::OpenError::None);
        trace::RingReader reader(*files, trace::ReaderRole::PostMortem);
        REQUIRE(reader.open());
        header = reader.header();
        std::vector<trace::Event> batch(10'000);
        trace::RingReader::Batch result;
        do {
            result = reader.next_batch(batch, 1, true);
            events.insert(events.end(), batch.begin(), batch.begin() + static_cast<ptrdiff_t>(result.events));
        } while (result.end == trace::BatchEnd::Full);
        REQUIRE(result.end == trace::BatchEnd::Finished);
        trace::read_losses(*header, reader.void_tickets(), losses);
        char path[trace::kMaxPath];
        trace::suffixed_path(prefix, trace::suffix::kDefinitions, path, sizeof path);
        REQUIRE(definitions.open(path) == trace::OpenError::None);
        image.reset(definitions.image());
    }
    explicit LeftTrace(const std::string& directory) : LeftTrace(directory, only_stem(directory)) {}

    static std::string only_stem(const std::string& directory) {
        const auto stems = stems_in(directory);
        REQUIRE(stems.size() == 1);
        return stems[0];
    }
    // Value of a Fact; "" if there is none.
    std::string fact(const std::string& key) const {
        std::string value;
        image.for_each([&](trace::DefinitionId, trace::DefinitionKind kind, std::span<const std::byte> body) {
            const std::string text(reinterpret_cast<const char*>(body.data()), body.size());
            if (kind == trace::DefinitionKind::Fact && text.compare(0, key.size() + 1, key + '\0') == 0) {
                value = text.substr(key.size() + 1);
            }
        });
        return value;
    }
    uint64_t loss(trace::Loss reason) const { return losses[static_cast<size_t>(reason)]; }

    std::unique_ptr<trace::RingFiles> files;
    const trace::RingHeader* header = nullptr;
    std::vector<trace::Event> events;
    uint64_t losses[trace::kLossCounters] = {};
    trace::DefinitionFile definitions;
    trace::DefinitionImage image;
};

}  // namespace vramtrace::test
