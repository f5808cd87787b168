// SPDX-License-Identifier: Apache-2.0
#include "analyzer/site_key.h"

#include <filesystem>

namespace vramtrace {
namespace {

std::string name_of(const NamedFrame& frame, SiteDetail detail) {
    if (!frame.function.empty()) return frame.function;
    if (detail != SiteDetail::Names) return frame.title();
    return frame.node.empty() ? frame.module_name() : frame.title();
}

}  // namespace

std::vector<std::string> site_parts(const ProcessAnalysis& process, const NamedStack& stack, SiteDetail detail) {
    std::vector<std::string> parts;
    if (stack.missing) return parts;
    for (size_t i = stack.headline; i < stack.frames.size(); ++i) {
        const NamedFrame& frame = process.frames[stack.frames[i]];
        if (frame.vendor) continue;
        parts.push_back(name_of(frame, detail));
        const std::string file = std::filesystem::path(frame.file).filename().string();
        parts.push_back(detail == SiteDetail::Lines && frame.line != 0 ? file + ":" + std::to_string(frame.line)
                                                                       : file);
    }
    return parts;
}

}  // namespace vramtrace
