// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/log.h"

#include <spdlog/sinks/stdout_sinks.h>

namespace vramtrace::cli {

void set_up_log(bool verbose) {
    auto logger = std::make_shared<spdlog::logger>("vramtrace", std::make_shared<spdlog::sinks::stderr_sink_st>());
    logger->set_pattern("vramtrace: %v");
    logger->set_level(verbose ? spdlog::level::debug : spdlog::level::info);
    spdlog::set_default_logger(std::move(logger));
}

}  // namespace vramtrace::cli
