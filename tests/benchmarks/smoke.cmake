# SPDX-License-Identifier: Apache-2.0
# Runs the benchmark over every collective with tiny sizes. Given: PROGRAM, JSON (a file to write),
# RANKS, and LAUNCH: an mpiexec command line, or nothing for ranks as threads.
cmake_minimum_required(VERSION 3.25)

set(how --threads ${RANKS} --variant both)
set(expected 62)   # 15 collectives at 2 sizes and a barrier, in 2 variants
if(LAUNCH)
    set(how --peer mpi)
    set(expected 31)
endif()
file(REMOVE ${JSON})
execute_process(
    COMMAND ${LAUNCH} ${PROGRAM} --op all --sizes 8,4K --rounds 3 --warmup 1
        --budget 0.1 --ranks ${RANKS} ${how} --json ${JSON}
    RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT status EQUAL 0)
    message(FATAL_ERROR "smoke: the benchmark ended with ${status}\n${output}")
endif()

file(STRINGS ${JSON} lines)
set(collectives "")
foreach(line IN LISTS lines)
    foreach(key collective bytes ranks nodes dtype op algorithm variant algbw_gbs busbw_gbs correct state)
        string(JSON ${key} GET "${line}" ${key})
    endforeach()
    foreach(percentile p10 p50 p90)
        string(JSON us GET "${line}" us ${percentile})
        if(NOT us GREATER 0)
            message(FATAL_ERROR "smoke: ${percentile} is ${us} us in ${line}")
        endif()
    endforeach()
    if(NOT correct OR NOT ranks EQUAL RANKS)
        message(FATAL_ERROR "smoke: wrong result or wrong ranks in ${line}")
    endif()
    if(LAUNCH)
        string(JSON peers LENGTH "${line}" peers)
        if(NOT peers EQUAL 1)
            message(FATAL_ERROR "smoke: no peer in ${line}")
        endif()
    endif()
    list(APPEND collectives ${collective})
endforeach()
list(LENGTH collectives rows)
list(REMOVE_DUPLICATES collectives)
list(LENGTH collectives different)
if(NOT different EQUAL 16 OR NOT rows EQUAL expected)
    message(FATAL_ERROR
        "smoke: ${rows} rows of ${different} collectives (${expected} of 16 expected)\n${output}")
endif()
message(STATUS "smoke: ${rows} rows, all correct")
file(REMOVE ${JSON})
