# SPDX-License-Identifier: Apache-2.0
# sinew_gpu_kernels(target image-source NAME source.cu...): compiles kernels for GPUs, if SINEW_WITH_CUDA does
# not say no and there is nvcc, into files that the image source puts into the target by the assembler
# (SINEW_KERNELS_<NAME>). Nothing of CUDA is linked: the driver loads them at run time.
#
# Without nvcc the image source is told why (SINEW_NO_KERNELS), and the configure summary says so.
set(SINEW_CUDA_ARCHITECTURES 80 90 100 CACHE STRING
    "compute capabilities that the kernels for GPUs are compiled for; others use the PTX of the first")

function(sinew_gpu_kernels target image)
    cmake_path(ABSOLUTE_PATH image BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    set(why "")
    if(NOT SINEW_WITH_CUDA)
        set(why "SINEW_WITH_CUDA was ${SINEW_WITH_CUDA}")
    else()
        find_program(SINEW_NVCC nvcc HINTS ${CUDAToolkit_BIN_DIR} PATHS /usr/local/cuda/bin)
        mark_as_advanced(SINEW_NVCC)
        if(NOT SINEW_NVCC)
            set(why "nvcc was not found")
        else()
            execute_process(COMMAND ${SINEW_NVCC} --version OUTPUT_VARIABLE version ERROR_QUIET RESULT_VARIABLE code)
            string(REGEX MATCH "release ([0-9]+)\\.([0-9]+)" found "${version}")
            set(version ${CMAKE_MATCH_1}.${CMAKE_MATCH_2})
            if(NOT code EQUAL 0 OR NOT found)
                set(why "${SINEW_NVCC} does not run")
            elseif(version VERSION_LESS 12.8)   # the first that knows 10.0
                set(why "nvcc is ${version}, and 12.8 or later is needed")
            endif()
        endif()
    endif()
    if(why)
        if(SINEW_WITH_CUDA AND NOT SINEW_WITH_CUDA STREQUAL "AUTO")
            message(FATAL_ERROR "sinew: kernels for GPUs cannot be compiled here (${why}), and SINEW_WITH_CUDA="
                "${SINEW_WITH_CUDA} asks for them. Install CUDA 12.8 or later, or configure with -DSINEW_WITH_CUDA=OFF.")
        endif()
        message(STATUS "sinew: kernels for GPUs: no (${why})")
        set_source_files_properties(${image} TARGET_DIRECTORY ${target} PROPERTIES
            COMPILE_DEFINITIONS "SINEW_NO_KERNELS=\"${why}\"" SKIP_UNITY_BUILD_INCLUSION ON)
        return()
    endif()

    # Arithmetic as on the host: no fused multiply-add, exact division, no flushing to zero.
    set(options -std=c++20 -O3 -fmad=false -prec-div=true -ftz=false --expt-relaxed-constexpr
        -I${PROJECT_SOURCE_DIR} -I${PROJECT_SOURCE_DIR}/include)
    if(SINEW_WERROR)
        list(APPEND options -Werror all-warnings)
    endif()
    set(code "")
    set(targets "")
    foreach(architecture IN LISTS SINEW_CUDA_ARCHITECTURES)
        list(APPEND code -gencode arch=compute_${architecture},code=sm_${architecture})
        string(REGEX REPLACE "([0-9])$" ".\\1" number ${architecture})
        list(APPEND targets ${number})
    endforeach()
    # PTX of an older architecture: more GPUs can use it.
    list(GET SINEW_CUDA_ARCHITECTURES 0 first)
    list(APPEND code -gencode arch=compute_${first},code=compute_${first})
    string(REGEX REPLACE "([0-9])$" ".\\1" first_number ${first})
    list(JOIN targets ", " targets)
    set(definitions "SINEW_KERNEL_TARGETS=\"compute capabilities ${targets}, and PTX for others from ${first_number} on\"")
    set(files "")
    set(ptx_files "")
    list(LENGTH ARGN length)
    math(EXPR last "${length} - 1")
    foreach(index RANGE 0 ${last} 2)
        math(EXPR next "${index} + 1")
        list(GET ARGN ${index} name)
        list(GET ARGN ${next} source)
        cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
        cmake_path(GET source STEM stem)
        set(file ${CMAKE_CURRENT_BINARY_DIR}/${stem}.fatbin)
        set(ptx ${CMAKE_CURRENT_BINARY_DIR}/${stem}.ptx)
        add_custom_command(OUTPUT ${file}
            COMMAND ${SINEW_NVCC} -fatbin ${options} ${code} --compress-mode=size --threads 2
                -MD -MF ${file}.d -o ${file} ${source}
            DEPENDS ${source} DEPFILE ${file}.d COMMENT "Compiling kernels for GPUs: ${stem}.cu" VERBATIM)
        add_custom_command(OUTPUT ${ptx}   # for a test alone
            COMMAND ${SINEW_NVCC} -ptx ${options} -arch=compute_${first} -MD -MF ${ptx}.d -o ${ptx} ${source}
            DEPENDS ${source} DEPFILE ${ptx}.d COMMENT "Compiling ${stem}.cu to PTX" VERBATIM)
        list(APPEND definitions "SINEW_KERNELS_${name}=\"${file}\"")
        list(APPEND files ${file})
        list(APPEND ptx_files ${ptx})
    endforeach()
    # The rules are this folder's, and the target may be another's. Ninja knows all rules, and only the image
    # waits for the kernels; other generators need the dependency.
    add_custom_target(${target}_kernels DEPENDS ${files})
    if(NOT CMAKE_GENERATOR MATCHES "Ninja")
        add_dependencies(${target} ${target}_kernels)
    endif()
    set_source_files_properties(${image} TARGET_DIRECTORY ${target} PROPERTIES
        COMPILE_DEFINITIONS "${definitions}" OBJECT_DEPENDS "${files}" SKIP_UNITY_BUILD_INCLUSION ON)
    if(SINEW_BUILD_TESTS)
        add_custom_target(${target}_kernels_ptx ALL DEPENDS ${ptx_files})
        set_property(GLOBAL PROPERTY SINEW_KERNEL_PTX "${ptx_files}")
    endif()
    message(STATUS "sinew: kernels for GPUs: yes (nvcc ${version}; compute capabilities ${targets}, PTX)")
endfunction()
