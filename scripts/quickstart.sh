#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# From a bare Debian 12, Debian 13 or Ubuntu 24.04 to a report: installs what is missing (and says so), builds vramtrace,
# records a small program that leaks under the preload, and prints its report. On the real GPU if there is one and a CUDA
# toolkit to build the program with; else on the simulated CUDA.
#   scripts/quickstart.sh [TRACE_DIRECTORY]      default: quickstart-trace, made anew
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
trace=${1:-quickstart-trace}
source=tests/programs/quickstart_leak.cpp

scripts/install_dependencies.sh
launcher=()
if command -v ccache >/dev/null; then
    export CCACHE_NOHASHDIR=1
    launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_C_COMPILER_LAUNCHER=ccache)
fi
echo "Building vramtrace into build/ (log: build-quickstart.log)"
{
    cmake --preset release "${launcher[@]}"
    cmake --build --preset release --target vramtrace vramtrace_preload vramtrace-collect quickstart_leak
} >build-quickstart.log 2>&1 || { tail -n 40 build-quickstart.log >&2; exit 1; }

real_gpu() {
    command -v nvidia-smi >/dev/null && nvidia-smi -L 2>/dev/null | grep -q '^GPU ' && command -v nvcc >/dev/null
}
if real_gpu; then
    echo "Recording quickstart_leak on $(nvidia-smi -L | head -n 1 | sed 's/ (UUID.*//')"
    nvcc -O2 -g -std=c++17 -x cu -I . "$source" -o build/quickstart_leak_gpu
    program=build/quickstart_leak_gpu
else
    echo "No NVIDIA GPU with a CUDA toolkit here: recording quickstart_leak on the simulated CUDA"
    export LD_LIBRARY_PATH=$PWD/build/simulator${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    program=build/tests/programs/quickstart_leak
fi
[ $# -gt 0 ] || rm -rf -- quickstart-trace  # never a folder that somebody named
build/bin/vramtrace run -o "$trace" -- "$program"
build/bin/vramtrace report "$trace"
