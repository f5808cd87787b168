// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/read_trace.h"

#include <filesystem>

#include "analyzer/cli/log.h"
#include "analyzer/cli/trace_directory.h"
#include "analyzer/input/open_input.h"
#include "analyzer/symbolize/symbol_cache.h"
#include "trace/container/input_error.h"

namespace vramtrace::cli {

std::string existing_trace(const std::optional<std::string>& named) {
    std::error_code error;
    if (!named) {
        const auto newest = input::newest_trace(".");
        if (!newest) {
            throw NoTrace(
                "there is no trace here (vramtrace-*/); name one, or record one: vramtrace run -- ./program ARGUMENTS");
        }
        return *newest;
    }
    const auto status = std::filesystem::status(*named, error);
    if (!std::filesystem::exists(status)) throw NoTrace(*named + " does not exist");
    if (std::filesystem::is_directory(status) && !holds_events(*named)) {
        const std::filesystem::directory_iterator listing(*named, error);
        if (error) throw trace::InputError(*named + " cannot be read: " + error.message() + ".");
        throw NoTrace(holds_trace(*named) ? *named +
                                                " holds no events: the job allocated no GPU memory, could not be "
                                                "recorded (it said so then), or its files were taken away"
                                          : *named + " holds no trace");
    }
    return *named;
}

symbolize::SearchPaths search_paths(const SymbolOptions& options) {
    symbolize::SearchPaths paths;
    paths.sysroot = options.sysroot;
    paths.debuginfod = options.debuginfod;
    if (!options.no_cache) paths.cache = symbolize::symbol_cache_directory();
    paths.cache_trouble = [](const std::string& sentence) { spdlog::debug("{}", sentence); };
    if (!options.debug_directories.empty()) paths.debug_directories = options.debug_directories;
    return paths;
}

}  // namespace vramtrace::cli
