# SPDX-License-Identifier: Apache-2.0
# include_rules.cmake must find each of these, and nothing in the files that keep the rules.
cmake_minimum_required(VERSION 3.25)
set(rules ${CMAKE_CURRENT_LIST_DIR}/include_rules.cmake)
string(RANDOM LENGTH 8 suffix)
set(root ${TEMP}/include_rules.${suffix})

function(check expectation)
    execute_process(COMMAND ${CMAKE_COMMAND} -DROOT=${root} -P ${rules}
        RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
    if((expectation STREQUAL "clean" AND NOT status EQUAL 0)
            OR (NOT expectation STREQUAL "clean"
                AND (status EQUAL 0 OR NOT output MATCHES "${expectation}")))
        file(REMOVE_RECURSE ${root})
        message(FATAL_ERROR "expected: ${expectation}\nfound: ${output}")
    endif()
endfunction()

# Each row: file|its third line|clean or what must be reported
set(cases
    "src/transport/threads.cpp|#include \"src/base/check.hpp\"|clean"
    "src/transport/mpi_transport.cpp|#include <mpi.h>|clean"
    "src/comm/communicator.cpp|#include \"collectives/catalogue.hpp\"|clean"
    "collectives/ring.cpp|#include <sinew/comm/transport.hpp>|clean"
    "collectives/kernels/reduce.cpp|#include <hwy/highway.h>|clean"
    "tests/comm/mpi_interop_test.cpp|#include <mpi.h>|clean"
    "benchmarks/collectives.cpp|#include \"benchmarks/support/sweep.hpp\"|clean"
    "src/base/check.cpp|#include \"src/transport/threads.hpp\"|src/base/check.cpp:3: src/base may not include"
    "collectives/ring.cpp|  #  include \"src/world/topology.hpp\"|collectives/ring.cpp:3: collectives may not include"
    "collectives/ring.cpp|#include <sinew/communicator.hpp>|ring.cpp:3: .*above it"
    "collectives/ring.cpp|#include <mpi.h>|ring.cpp:3: <mpi.h> is not for this file"
    "collectives/ring.cpp|#include \"ring.hpp\"|ring.cpp:3: collectives may not include"
    "src/comm/communicator.cpp|#include <hwy/highway.h>|communicator.cpp:3: <hwy/highway.h> is not"
    "src/comm/communicator.cpp|#include <cuda_runtime.h>|communicator.cpp:3: <cuda_runtime.h> is not"
    "src/comm/communicator.cpp|#include <hwloc.h>|communicator.cpp:3: <hwloc.h> is not"
    "include/sinew/world.hpp|#include <mpi.h>|world.hpp:3: <mpi.h> is not"
    "include/sinew/world.hpp|#include \"src/base/check.hpp\"|world.hpp:3: a public header"
    "examples/hello.cpp|#include \"src/base/check.hpp\"|hello.cpp:3: examples may not include"
    "src/new_layer/a.cpp|#include <vector>|a.cpp:3: belongs to no layer"
    "src/comm/communicator.cpp|#include <collectives/catalogue.hpp>|communicator.cpp:3: private")
foreach(row IN LISTS cases)
    string(REPLACE "|" ";" row "${row}")
    list(POP_FRONT row file line expectation)
    file(REMOVE_RECURSE ${root})
    file(WRITE ${root}/${file} "// one\n#include <string>\n${line}\n")
    if(file STREQUAL "src/new_layer/a.cpp")
        string(REPLACE ":3" ":2" expectation "${expectation}")
    endif()
    check("${expectation}")
endforeach()
file(REMOVE_RECURSE ${root})
list(LENGTH cases number)
message(STATUS "include rules: ${number} cases decided as they should be")
