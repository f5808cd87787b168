# SPDX-License-Identifier: Apache-2.0
# Finds cuda.h and cuda_runtime_api.h: VRAMTRACE_CUDA_INCLUDE, an installed toolkit, or the packages that
# scripts/install_dependencies.sh puts under third_party-like prefixes. Only the simulator and the tests need them.
find_path(VRAMTRACE_CUDA_INCLUDE cuda_runtime_api.h
    HINTS ENV CUDA_HOME ENV CUDA_PATH
    PATHS /usr/local/cuda /opt/cuda /usr/lib/cuda ${PROJECT_SOURCE_DIR}/.cuda-headers
    PATH_SUFFIXES include nvidia/cu13/include nvidia/cuda_runtime/include
    DOC "Folder with cuda.h and cuda_runtime_api.h")
if(NOT VRAMTRACE_CUDA_INCLUDE)
    message(FATAL_ERROR "No CUDA headers found. Run scripts/install_dependencies.sh, or set VRAMTRACE_CUDA_INCLUDE.")
endif()
message(STATUS "CUDA headers: ${VRAMTRACE_CUDA_INCLUDE}")
find_program(VRAMTRACE_NVCC nvcc HINTS /usr/local/cuda/bin)
