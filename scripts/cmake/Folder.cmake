# SPDX-License-Identifier: Apache-2.0
# add_folder(NAME): the folder's CMakeLists.txt if it is there (source packages may leave tests or simulator out).
macro(add_folder name)
    if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/CMakeLists.txt)
        add_subdirectory(${name})
    endif()
endmacro()

# vramtrace_library(NAME SOURCES … LINK …): one folder, one static library, its dependencies exactly those named.
function(vramtrace_library name)
    cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
    if(ARG_SOURCES)
        add_library(${name} STATIC ${ARG_SOURCES})
        target_link_libraries(${name} PUBLIC ${ARG_LINK})
    else()
        add_library(${name} INTERFACE)
        target_link_libraries(${name} INTERFACE ${ARG_LINK})
    endif()
endfunction()
