# SPDX-License-Identifier: Apache-2.0
# Installs into a temporary folder, builds an outside project by find_package and by pkg-config,
# runs both; the same with a shared library, for find_package. Given: SOURCE, BUILD (our folders), CXX,
# PKGCONFIG_DIR (under the prefix), GENERATOR, OPTIONS (what our build was configured with).
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

function(expect_output how expected)
    if(NOT output MATCHES "${expected}")
        file(REMOVE_RECURSE ${temp})
        message(FATAL_ERROR "install_test: the program built by ${how} printed \"${output}\"")
    endif()
    message(STATUS "${how}: ${output}")
endfunction()
set(greeting "sinew [0-9]+\\.[0-9]+\\.[0-9]+: sum 1 of 1")
set(sum_of_squares "the squares of 1 to 100 add up to 338350")

# build_outside(name prefix): the outside project by find_package, and what its programs print.
function(build_outside name prefix)
    run(${CMAKE_COMMAND} -S ${outside} -B ${temp}/${name} -G ${GENERATOR}
        -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_PREFIX_PATH=${prefix})
    run(${CMAKE_COMMAND} --build ${temp}/${name})
    run(${temp}/${name}/outside)
    expect_output("find_package (${name})" "${greeting}")
    run(${temp}/${name}/farm)
    expect_output("find_package (${name}), a Pool and a Manager" "${sum_of_squares}")
endfunction()

set(library_path ${prefix}/${PKGCONFIG_DIR}/..)
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})

build_outside(cmake ${prefix})

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

# The installed examples are a project of their own.
run(${CMAKE_COMMAND} -S ${prefix}/share/doc/sinew/examples -B ${temp}/examples -G ${GENERATOR}
    -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_PREFIX_PATH=${prefix})
run(${CMAKE_COMMAND} --build ${temp}/examples --target example_allreduce example_queue_pipe)
run(${temp}/examples/examples/queue_pipe 100)
expect_output("the installed examples" "${sum_of_squares}")

find_program(PKG_CONFIG NAMES pkg-config pkgconf REQUIRED)
run(${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${prefix}/${PKGCONFIG_DIR}
    ${PKG_CONFIG} --cflags --libs sinew)
separate_arguments(flags UNIX_COMMAND "${output}")
run(${CXX} ${outside}/main.cpp -o ${temp}/by_pkgconfig ${flags})
run(${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${library_path} ${temp}/by_pkgconfig)
expect_output(pkg-config "${greeting}")

# A program of C: by find_package in a project that has no other language, and by pkg-config. CC is what cmake finds.
run(${CMAKE_COMMAND} -S ${outside}/c -B ${temp}/c -G ${GENERATOR} -DCMAKE_PREFIX_PATH=${prefix})
run(${CMAKE_COMMAND} --build ${temp}/c)
run(${temp}/c/outside_c)
expect_output("find_package(sinew_c)" "${greeting}")
run(${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${prefix}/${PKGCONFIG_DIR}
    ${PKG_CONFIG} --cflags --libs sinew_c)
separate_arguments(flags UNIX_COMMAND "${output}")
run(cc -std=c11 -Wall -Wextra -pedantic -Werror ${outside}/c/main.c -o ${temp}/c_by_pkgconfig ${flags})
run(${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${library_path} ${temp}/c_by_pkgconfig)
expect_output("pkg-config sinew_c" "${greeting}")

# The module of Python finds the library beside it.
find_program(python python3 PATHS /usr/bin NO_DEFAULT_PATH)
if(python)
    run(${CMAKE_COMMAND} -E env --unset=SINEW_LIBRARY PYTHONPATH=${prefix}/lib/python3/dist-packages PYTHONDONTWRITEBYTECODE=1
        ${python} -m sinew --version)
    expect_output("python3 -m sinew" "sinew [0-9.]+ .${prefix}/lib")
endif()

# A shared library, from the same sources with the same flags, in a folder as deep: a compiler cache
# knows them.
run(${CMAKE_COMMAND} -S ${SOURCE} -B ${BUILD}_shared -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${CXX}
    -DBUILD_SHARED_LIBS=ON -DSINEW_BUILD_COMMAND=OFF -DSINEW_BUILD_TESTS=OFF
    -DSINEW_BUILD_BENCHMARKS=OFF -DSINEW_BUILD_EXAMPLES=OFF ${OPTIONS})
run(${CMAKE_COMMAND} --build ${BUILD}_shared -j 2)
run(${CMAKE_COMMAND} --install ${BUILD}_shared --prefix ${temp}/shared_prefix)
build_outside(shared ${temp}/shared_prefix)
run(${CMAKE_COMMAND} -S ${outside}/c -B ${temp}/c_shared -G ${GENERATOR} -DCMAKE_PREFIX_PATH=${temp}/shared_prefix)
run(${CMAKE_COMMAND} --build ${temp}/c_shared)
run(${temp}/c_shared/outside_c)
expect_output("find_package(sinew_c) (shared)" "${greeting}")

file(REMOVE_RECURSE ${temp})
