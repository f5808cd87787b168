// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "analyzer/report/report_model.h"

// The parts of a process's text report; each gives whole lines, or nothing if there is nothing to say.
namespace vramtrace::report {

std::string header_section(const ProcessReport& report);
std::string judgement_section(const ProcessReport& report);  // lost events, blind spots: what limits all that follows
std::string leak_section(const ProcessReport& report, const Options& options);
std::string peak_section(const ProcessReport& report, const Options& options);
std::string device_section(const ProcessReport& report, const Options& options);
std::string churn_section(const ProcessReport& report);
std::string failure_section(const ProcessReport& report, const Options& options);
std::string refused_section(const ProcessReport& report, const Options& options);
std::string handle_section(const ProcessReport& report);
std::string summary_lines(const ProcessReport& report, bool several);

// The rows of what is left, each with its times, threads and stack. `noun` counts pieces: "allocation", "tensor".
std::string left_rows(const ProcessReport& report, const Table& table, const Options& options, const char* noun);
// The rows of what made up a peak.
std::string peak_rows(const ProcessAnalysis& process, const Table& table, uint64_t peak, const Options& options);
std::string churn_rows(const Table& table);

// Pieces of text that several sections use.
std::string live_heading(const ProcessAnalysis& process);  // "LIVE NOW"
std::string where(const Row& row);                         // "load() train.cpp:33, inside libcublas.so.13"
std::string what(const Row& row);                          // "device memory by cudaMalloc → cuMemAlloc_v2"
std::string by_call(const Row& row);  // "  by cudaMalloc": what the program itself called, for tables
std::string stack_lines(const ProcessAnalysis& process, const NamedStack& stack, const Options& options,
                        const std::string& indent);
std::string hidden_line(const Table& table, const std::string& indent, const char* noun);

}  // namespace vramtrace::report
