# SPDX-License-Identifier: Apache-2.0
# sinew_unity_by_folder(target): up to 8 sources of one folder are compiled as one.
#
# The command takes single objects out of the library, and none that needs MPI: so those of src/world,
# which it shares with programs that do, and those that call MPI stay by themselves, and no folder
# is mixed with another.
function(sinew_unity_by_folder target)
    get_target_property(sources ${target} SOURCES)
    foreach(source IN LISTS sources)
        cmake_path(GET source FILENAME name)
        cmake_path(GET source PARENT_PATH folder)
        if(NOT name MATCHES "\\.cpp$" OR name MATCHES "^mpi_" OR folder MATCHES "(world|kernels)$")
            continue()
        endif()
        string(MAKE_C_IDENTIFIER "${folder}" id)
        if(NOT DEFINED count_${id})
            set(count_${id} 0)
        endif()
        math(EXPR batch "${count_${id}} / 8")
        math(EXPR count_${id} "${count_${id}} + 1")
        cmake_path(GET folder FILENAME short)
        set_source_files_properties(${source} TARGET_DIRECTORY ${target}
            PROPERTIES UNITY_GROUP ${short}_${batch})
    endforeach()
    set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
endfunction()
