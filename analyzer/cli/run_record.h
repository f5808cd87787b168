// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyzer/cli/framework_detail.h"
#include "analyzer/cli/job.h"

// run.json: what `vramtrace run` knows of the job it started and nobody else can.
//   { "schema_version": 1, "pid": 4711, "start_time": 8812, "host": "node1", "boot_id": "…", "directory": "/home/me",
//     "command": ["./train", "--epochs", "3"], "running": false, "exit_code": 0, "signal": null, "core_dumped": false,
//     "start_error": null, "start_realtime": …, "end_realtime": …, "start_monotonic": …,
//     "end_monotonic": …, "max_rss_bytes": …, "user_seconds": …, "system_seconds": …,
//     "framework_detail": [{"framework": "JAX", "name": "XLA_…", "value": "…", "by_user": false}] }
// Times in ns of CLOCK_REALTIME and CLOCK_MONOTONIC. While the job runs, "running" is true and what is not known yet is null.
namespace vramtrace::cli {

constexpr unsigned kRunSchema = 1;

// Whether a job that another `run` started is still being recorded into `directory`: its run.json is not ours to replace.
bool other_job_runs(const std::string& directory);

// Replaces run.json in `directory`; false if that cannot be done.
bool write_run_record(const std::string& directory, const std::vector<std::string>& command, const JobEnd& end,
                      bool running, const std::vector<ChosenVariable>& detail = {});

}  // namespace vramtrace::cli
