// SPDX-License-Identifier: Apache-2.0
#include "analyzer/gate/results/location.h"

#include <filesystem>

namespace vramtrace::gate {

std::optional<std::string> path_in_repository(const std::string& file, const Context& context) {
    if (file.empty()) return std::nullopt;
    const std::filesystem::path path = std::filesystem::path(file).lexically_normal();
    if (!path.is_absolute()) {
        std::error_code error;
        const bool there = std::filesystem::exists(std::filesystem::path(context.source_root) / path, error);
        return there && *path.begin() != ".." ? std::optional(path.generic_string()) : std::nullopt;
    }
    const std::filesystem::path root = std::filesystem::path(context.source_root).lexically_normal();
    const std::filesystem::path relative = path.lexically_relative(root);
    if (relative.empty() || *relative.begin() == ".." || *relative.begin() == ".") return std::nullopt;
    return relative.generic_string();
}

std::optional<Location> location_of(const Offender& offender, const Context& context) {
    if (!offender.finding) return std::nullopt;
    for (const uint32_t index : offender.process->stack(offender.finding->stack).frames) {
        const NamedFrame& frame = offender.process->frames[index];
        const auto file = frame.vendor ? std::nullopt : path_in_repository(frame.file, context);
        if (file && frame.line != 0) return Location{*file, frame.line};
    }
    return std::nullopt;
}

}  // namespace vramtrace::gate
