# SPDX-License-Identifier: Apache-2.0
# PyTorch's linkage in small: a library that defines the five names, one that calls them through its PLT, a plugin whose
# constructor allocates, and a job that loads them as Python loads extension modules.
add_library(vramtrace_imitation_c10 SHARED imitation/c10.cpp)
set_target_properties(vramtrace_imitation_c10 PROPERTIES OUTPUT_NAME c10 LIBRARY_OUTPUT_DIRECTORY ${parts}/torch/lib)
add_library(vramtrace_imitation_c10_cuda SHARED imitation/c10_cuda.cpp)
set_target_properties(vramtrace_imitation_c10_cuda PROPERTIES OUTPUT_NAME c10_cuda BUILD_RPATH "$ORIGIN"
    LIBRARY_OUTPUT_DIRECTORY ${parts}/torch/lib)
target_include_directories(vramtrace_imitation_c10_cuda SYSTEM PRIVATE ${VRAMTRACE_CUDA_INCLUDE})
target_link_libraries(vramtrace_imitation_c10_cuda PRIVATE vramtrace_imitation_c10 vramtrace_simulator_cudart13)
add_library(vramtrace_imitation_plugin MODULE imitation/torch_plugin.cpp)
set_target_properties(vramtrace_imitation_plugin PROPERTIES PREFIX "" OUTPUT_NAME torch_plugin
    LIBRARY_OUTPUT_DIRECTORY ${parts})
add_executable(vramtrace_imitation_torch_job imitation/torch_job.cpp)
set_target_properties(vramtrace_imitation_torch_job PROPERTIES OUTPUT_NAME torch_job ENABLE_EXPORTS ON
    RUNTIME_OUTPUT_DIRECTORY ${parts})
target_link_libraries(vramtrace_imitation_torch_job PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
foreach(target IN ITEMS c10 c10_cuda plugin torch_job)
    target_include_directories(vramtrace_imitation_${target} PRIVATE ${PROJECT_SOURCE_DIR})
    target_compile_options(vramtrace_imitation_${target} PRIVATE -O2 -g)
endforeach()
file(WRITE ${parts}/torch/version.py "debug = False\n__version__ = '9.8.7+imitation'\ncuda: str = '13.0'\n")
