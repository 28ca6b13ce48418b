# SPDX-License-Identifier: Apache-2.0
# Installs into a temporary folder, builds an outside project by find_package and by pkg-config,
# runs both. Given: BUILD (our build folder), CXX, PKGCONFIG_DIR (under the prefix), GENERATOR.
cmake_minimum_required(VERSION 3.25)
string(RANDOM LENGTH 8 suffix)
set(temp ${BUILD}/install_test.${suffix})
set(prefix ${temp}/prefix)
set(outside ${CMAKE_CURRENT_LIST_DIR}/outside)

function(run)
    execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
    if(NOT status EQUAL 0)
        file(REMOVE_RECURSE ${temp})
        list(JOIN ARGN " " command)
        message(FATAL_ERROR "install_test: ${command}\n${output}\nfailed with ${status}")
    endif()
    set(output "${output}" PARENT_SCOPE)
endfunction()

function(expect_greeting how)
    if(NOT output MATCHES "sinew [0-9]+\\.[0-9]+\\.[0-9]+: sum 1 of 1")
        file(REMOVE_RECURSE ${temp})
        message(FATAL_ERROR "install_test: the program built by ${how} printed \"${output}\"")
    endif()
    message(STATUS "${how}: ${output}")
endfunction()

set(library_path ${prefix}/${PKGCONFIG_DIR}/..)
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})

run(${CMAKE_COMMAND} -S ${outside} -B ${temp}/cmake -G ${GENERATOR}
    -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_PREFIX_PATH=${prefix})
run(${CMAKE_COMMAND} --build ${temp}/cmake)
run(${temp}/cmake/outside)
expect_greeting(find_package)

# The command is where PATH will find it, and starts ranks.
if(EXISTS ${prefix}/bin/sinew)
    run(${prefix}/bin/sinew run -n 2 ${temp}/cmake/outside)
    message(STATUS "sinew run: ${output}")
    foreach(file share/man/man1/sinew.1 share/bash-completion/completions/sinew)
        if(NOT EXISTS ${prefix}/${file})
            message(FATAL_ERROR "install_test: ${file} is not installed")
        endif()
    endforeach()
endif()

foreach(file README.md docs/tasks.md docs/decisions/0001-operations-are-fibers.md)
    if(NOT EXISTS ${prefix}/share/doc/sinew/${file})
        message(FATAL_ERROR "install_test: share/doc/sinew/${file} is not installed")
    endif()
endforeach()

find_program(PKG_CONFIG NAMES pkg-config pkgconf REQUIRED)
run(${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${prefix}/${PKGCONFIG_DIR}
    ${PKG_CONFIG} --cflags --libs sinew)
separate_arguments(flags UNIX_COMMAND "${output}")
run(${CXX} ${outside}/main.cpp -o ${temp}/by_pkgconfig ${flags})
run(${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${library_path} ${temp}/by_pkgconfig)
expect_greeting(pkg-config)

file(REMOVE_RECURSE ${temp})
