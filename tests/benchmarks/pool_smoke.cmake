# SPDX-License-Identifier: Apache-2.0
# Runs the Pool's benchmark with short turns, beside multiprocessing where there is a Python. Given:
# PROGRAM, JSON (a file to write).
cmake_minimum_required(VERSION 3.25)

set(alone kill-redispatch kill-replacement)   # cases without peers
set(cases noop-map noop-single apply skew args-64k queue pipe kill-100ms ${alone})
set(peers none)
if(EXISTS /usr/bin/python3)
    set(peers multiprocessing)
endif()
list(JOIN cases "," list)
file(REMOVE ${JSON})
execute_process(
    COMMAND ${PROGRAM} --cases ${list} --workers 2 --peers ${peers} --rounds 1 --seconds 0.02
        --json ${JSON}
    RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT status EQUAL 0)
    message(FATAL_ERROR "smoke: the benchmark ended with ${status}\n${output}")
endif()

set(seen "")
file(STRINGS ${JSON} lines)
foreach(line IN LISTS lines)
    string(JSON case GET "${line}" case)
    string(JSON value GET "${line}" value)
    string(JSON beside LENGTH "${line}" peers)
    list(APPEND seen ${case})
    if(NOT value GREATER 0)
        message(FATAL_ERROR "smoke: ${case} has the value ${value} in ${line}")
    endif()
    if(case IN_LIST alone)
        string(JSON unit GET "${line}" unit)
        string(JSON max GET "${line}" max)
        if(NOT beside EQUAL 0 OR NOT unit STREQUAL "ms" OR max LESS value)
            message(FATAL_ERROR "smoke: not of ${case}: ${line}")
        endif()
    elseif(beside EQUAL 0 AND NOT peers STREQUAL "none")
        message(FATAL_ERROR "smoke: ${case} is beside nobody in ${line}\n${output}")
    endif()
endforeach()
if(NOT seen STREQUAL cases)
    message(FATAL_ERROR "smoke: rows of ${seen} (expected: ${cases})\n${output}")
endif()

execute_process(COMMAND ${PROGRAM} --cases nop-map RESULT_VARIABLE status ERROR_VARIABLE output)
if(status EQUAL 0 OR NOT output MATCHES "Did you mean noop-map")
    message(FATAL_ERROR "smoke: a wrong case is not refused as it should be (${status})\n${output}")
endif()

execute_process(COMMAND ${PROGRAM} --cases kill-redispatch --workers 1 --rounds 1 --peers none
    RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT status EQUAL 1 OR NOT output MATCHES "needs 2")
    message(FATAL_ERROR "smoke: a kill that leaves no worker is not refused (${status})\n${output}")
endif()
message(STATUS "smoke: a row of each case")
file(REMOVE ${JSON})
