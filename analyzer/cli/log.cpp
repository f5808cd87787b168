// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>

#include "analyzer/print/printable.h"

namespace vramtrace::cli {

namespace {

// Whatever a message quotes (names of files, words of a command line), it stays one line and drives no terminal.
class PrintableText final : public spdlog::custom_flag_formatter {
public:
    void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& out) override {
        const std::string text = print::printable({message.payload.data(), message.payload.size()});
        out.append(text.data(), text.data() + text.size());
    }
    std::unique_ptr<spdlog::custom_flag_formatter> clone() const override { return std::make_unique<PrintableText>(); }
};

}  // namespace

void set_up_log(bool verbose) {
    auto logger = std::make_shared<spdlog::logger>("vramtrace", std::make_shared<spdlog::sinks::stderr_sink_st>());
    auto formatter = std::make_unique<spdlog::pattern_formatter>();
    formatter->add_flag<PrintableText>('*').set_pattern("vramtrace: %*");
    logger->set_formatter(std::move(formatter));
    logger->set_level(verbose ? spdlog::level::debug : spdlog::level::info);
    spdlog::set_default_logger(std::move(logger));
}

}  // namespace vramtrace::cli
