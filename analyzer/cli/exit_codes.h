// SPDX-License-Identifier: Apache-2.0
#pragma once

// Every code that the program gives of its own; docs/exit-codes.md explains them. `run` gives the job's code instead.
namespace vramtrace::cli {

constexpr int kGood = 0;
constexpr int kFailed = 1;        // could not do what was asked (cannot write, doctor found that it will not work, …)
constexpr int kUsage = 2;         // the command line is wrong
constexpr int kNoTrace = 3;       // there is no trace where one was looked for
constexpr int kUnreadable = 4;    // there is one, but it is of no use: damaged from the start, foreign, newer
constexpr int kGateFailed = 23;   // `check`, `run --check`: a limit was exceeded
constexpr int kCannotJudge = 24;  // `check`, `run --check`, `diff`: the trace allows no verdict
// `run`, like env(1):
constexpr int kRunFailed = 125;        // vramtrace itself failed before the command was started
constexpr int kCannotExecute = 126;    // the command was found but cannot be executed
constexpr int kCommandNotFound = 127;  // the command was not found

}  // namespace vramtrace::cli
