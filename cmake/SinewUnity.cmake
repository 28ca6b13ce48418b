# SPDX-License-Identifier: Apache-2.0
# Which sources a unity build compiles as one (SINEW_UNITY).
#
# sinew_unity_by_room(target): up to 14 sources of one room (src/pool, collectives, ...) are one.
# The command takes single objects out of the library, and none that needs MPI: so those that call MPI
# are one, what it shares of src/world with programs that do stays by itself, and no room is mixed with
# another.
function(sinew_unity_by_room target)
    get_target_property(sources ${target} SOURCES)
    foreach(source IN LISTS sources)
        cmake_path(GET source FILENAME name)
        cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE path)
        if(NOT path MATCHES "^(src/[a-z]+|collectives)/.*\\.cpp$")
            continue()
        endif()
        set(room ${CMAKE_MATCH_1})
        if(path MATCHES "/kernels/" OR name STREQUAL "mpi_environment.cpp" OR name STREQUAL "world_file.cpp")
            continue()
        endif()
        if(name MATCHES "^mpi_")
            set(room mpi)
        endif()
        string(MAKE_C_IDENTIFIER ${room} id)
        if(NOT DEFINED count_${id})
            set(count_${id} 0)
        endif()
        math(EXPR batch "${count_${id}} / 14")
        math(EXPR count_${id} "${count_${id}} + 1")
        set_source_files_properties(${source} TARGET_DIRECTORY ${target}
            PROPERTIES UNITY_GROUP ${id}_${batch})
    endforeach()
    set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
endfunction()

# sinew_unity_by_include(target header...): sources that include one of these headers, whose templates take
# many times as long as the rest of a source, are compiled as one for each header; the others by 14.
function(sinew_unity_by_include target)
    get_target_property(sources ${target} SOURCES)
    get_target_property(folder ${target} SOURCE_DIR)
    set(count 0)
    foreach(source IN LISTS sources)
        file(STRINGS ${folder}/${source} includes REGEX "^#include")
        set(group "")
        foreach(header IN LISTS ARGN)
            if(NOT group AND includes MATCHES "${header}")
                string(MAKE_C_IDENTIFIER ${header} group)
            endif()
        endforeach()
        if(NOT group)
            math(EXPR batch "${count} / 14")
            math(EXPR count "${count} + 1")
            set(group others_${batch})
        endif()
        set_source_files_properties(${source} TARGET_DIRECTORY ${target}
            DIRECTORY ${folder} PROPERTIES UNITY_GROUP ${group})
    endforeach()
    set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
endfunction()
