# SPDX-License-Identifier: Apache-2.0
# Warnings, warnings as errors and sanitizers, for every target of this project and no one else's.
#
# Not -Wconversion: with g++ it flags every sum of two int8_t in the kernels. What we do fear, a
# 64-bit count that loses its upper half, clang's -Wshorten-64-to-32 finds without the noise.
add_compile_options(-Wall -Wextra -Wpedantic -Wshadow
    "$<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor;-Woverloaded-virtual>")
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wshorten-64-to-32>)
endif()
if(SINEW_UNITY)   # names of one file's anonymous namespace shadow nothing of the next file's
    add_compile_options(-Wno-shadow)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
    endif()
endif()
if(SINEW_WERROR)
    add_compile_options(-Werror)
endif()

if(SINEW_FUZZ)
    if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
        message(FATAL_ERROR "sinew: SINEW_FUZZ=ON needs clang (the compiler is "
            "${CMAKE_CXX_COMPILER_ID}). Configure with -DCMAKE_CXX_COMPILER=clang++")
    endif()
    add_compile_options(-fsanitize=fuzzer-no-link)
    add_link_options(-fsanitize=fuzzer-no-link)
endif()
# What clang++'s sanitizers add makes programs large; lld links them in a quarter of the time.
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    include(CheckLinkerFlag)
    check_linker_flag(CXX -fuse-ld=lld SINEW_HAVE_LLD)
    if(SINEW_HAVE_LLD)
        add_link_options(-fuse-ld=lld)
    endif()
endif()
if(SINEW_SANITIZE)
    if(NOT SINEW_SANITIZE MATCHES "^(thread|address|undefined|address,undefined)$")
        message(FATAL_ERROR "sinew: SINEW_SANITIZE=${SINEW_SANITIZE} "
            "(must be thread, address, undefined or address,undefined)")
    endif()
    add_compile_options(-fsanitize=${SINEW_SANITIZE} -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${SINEW_SANITIZE})
    if(SINEW_SANITIZE MATCHES "undefined")
        # A null pointer that is used traps without help; the checks cost a fifth of the build.
        # Of dynamic types it cannot judge where the process has no descriptors left.
        add_compile_options(-fno-sanitize-recover=undefined -fno-sanitize=null,vptr)
    endif()
endif()
