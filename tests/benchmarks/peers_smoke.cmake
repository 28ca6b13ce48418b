# SPDX-License-Identifier: Apache-2.0
# Runs the benchmark beside all of Open MPI, more ranks than many machines have processors, each in a session of its own; then
# makes a page of the result. Given: PROGRAM, FOLDER (for files), LAUNCH: a command line that starts 3 ranks.
cmake_minimum_required(VERSION 3.25)

file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})
execute_process(
    COMMAND ${LAUNCH} ${PROGRAM} --op allreduce,broadcast --dtype f32,bf16 --sizes 8 --rounds 3 --warmup 1 --budget 0.1
        --nonblocking
        --peer openmpi,mpi_nonblocking,openmpi_forced,openmpi_components --own-session --tail --json ${FOLDER}/run.json
    RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT status EQUAL 0)
    message(FATAL_ERROR "peers smoke: the benchmark ended with ${status}\n${output}")
endif()
foreach(words "best of all peers" "a session of its own" "at MPI_THREAD_SINGLE" "openmpi:han left out")
    if(NOT output MATCHES "${words}")
        message(FATAL_ERROR "peers smoke: \"${words}\" is not in\n${output}")
    endif()
endforeach()

file(STRINGS ${FOLDER}/run.json lines)
list(POP_FRONT lines run)
string(JSON own GET "${run}" run own_sessions)
list(LENGTH lines rows)
if(NOT own OR NOT rows EQUAL 16)
    message(FATAL_ERROR "peers smoke: ${rows} rows (16 expected), sessions of their own: ${own}\n${output}")
endif()
foreach(line IN LISTS lines)
    string(JSON collective GET "${line}" collective)
    set(expected openmpi mpi_nonblocking openmpi:chain openmpi:sm)   # an algorithm of broadcast, a component
    if(collective STREQUAL "allreduce")
        set(expected openmpi mpi_nonblocking openmpi:ring openmpi:rabenseifner openmpi:sm)
    endif()
    foreach(peer IN LISTS expected)
        string(JSON us ERROR_VARIABLE missing GET "${line}" peers "${peer}" us p50)
        if(missing)
            message(FATAL_ERROR "peers smoke: no ${peer} in ${line}\n${output}")
        endif()
    endforeach()
    string(JSON best GET "${line}" best_peer)
    string(JSON correct GET "${line}" correct)
    if(NOT correct)
        message(FATAL_ERROR "peers smoke: wrong results in ${line}")
    endif()
endforeach()

# The page needs gnuplot; without it the error names it.
execute_process(COMMAND ${PROGRAM} --report ${FOLDER}/page.md --runs ${FOLDER}/run.json
    RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
find_program(gnuplot gnuplot)
if(gnuplot)
    if(NOT status EQUAL 0 OR NOT EXISTS ${FOLDER}/page-3-ranks-own-sessions-allreduce.svg)
        message(FATAL_ERROR "peers smoke: the page was not made (status ${status})\n${output}")
    endif()
    file(READ ${FOLDER}/page.md page)
    if(NOT page MATCHES "### broadcast, 3 ranks.*best peer")
        message(FATAL_ERROR "peers smoke: the page has no table of broadcast\n${page}")
    endif()
elseif(NOT status EQUAL 1 OR NOT output MATCHES "no gnuplot in PATH")
    message(FATAL_ERROR "peers smoke: without gnuplot the status is ${status}\n${output}")
endif()
file(REMOVE_RECURSE ${FOLDER})
message(STATUS "peers smoke: ${rows} rows, all correct")
