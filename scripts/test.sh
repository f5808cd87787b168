#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds vramtrace and runs every test. Installs what is missing first (and says so). Quick the second time.
#   scripts/test.sh             release build, all tests
#   scripts/test.sh --all       the same with a real PyTorch on the simulated CUDA (installed into .venv-frameworks/), then
#                               ASan+UBSan and TSan builds of all that can run under them, and the format check
# Environment: VRAMTRACE_BUILD_JOBS (default: number of cores).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
all=
for option in "$@"; do
    case $option in
    --all) all=yes ;;
    *) echo "test.sh: unknown option '$option' (only --all is known)" >&2; exit 2 ;;
    esac
done
jobs=${VRAMTRACE_BUILD_JOBS:-$(nproc)}

scripts/install_dependencies.sh ${all:+--with-checks --with-frameworks --with-ci-tools}
launcher=()
if command -v ccache >/dev/null; then
    export CCACHE_NOHASHDIR=1
    launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_C_COMPILER_LAUNCHER=ccache)
fi

# run PRESET BENCHMARKS: configure, build, test.
run() {
    echo "== $1: build"
    cmake --preset "$1" "${launcher[@]}" -DVRAMTRACE_BENCHMARKS="$2" >"build-$1.log" 2>&1 || { cat "build-$1.log"; exit 1; }
    cmake --build --preset "$1" -j "$jobs" >>"build-$1.log" 2>&1 || { tail -n 60 "build-$1.log"; exit 1; }
    echo "== $1: test"
    # Kill tests race with the machine: one that failed is run once more, and ctest's table shows both runs.
    ctest --preset "$1" -j "$jobs" --timeout 600 --repeat until-pass:2
}

run release ON
if [ -n "$all" ]; then
    run asan OFF
    run tsan OFF
    scripts/check_format.sh
fi
