# SPDX-License-Identifier: Apache-2.0
# Each CASE of refused.cpp stops the compiler with one error, ours, and no other. Given COMPILER,
# FLAGS (with | between them), SOURCE; EXPECTED for another source than ours (with | between them).
cmake_minimum_required(VERSION 3.25)
string(REPLACE "|" ";" FLAGS "${FLAGS}")

set(capture "task lambdas must not capture: pass data as arguments")
set(pointer "pointers, references and views mean nothing in another process")
set(travel "this type cannot travel to another process: give it a serialize")
set(expected
    "${capture}" "${capture}" "${capture}"
    "a task cannot take references to non-const"
    "${pointer}" "${pointer}" "${pointer}" "${pointer}" "${pointer}"
    "${travel}" "${travel}" "${travel}"
    "the task takes another number of arguments than it is passed"
    "an argument cannot be converted to what the task takes"
    "pointers to members mean nothing in another process"
    "the task cannot be called with arguments of these types"
    "${travel}"
    "the method is none of the object's class, nor of a base of it"
    "starmap's inputs are tuples or pairs")

if(DEFINED EXPECTED)
    string(REPLACE "|" ";" expected "${EXPECTED}")
endif()

function(compile case)
    execute_process(COMMAND ${COMPILER} ${FLAGS} -std=c++20 -fsyntax-only -DCASE=${case} ${SOURCE}
        RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE out)
    set(code ${code} PARENT_SCOPE)
    set(out "${out}" PARENT_SCOPE)
endfunction()

compile(0)
if(NOT code EQUAL 0)
    message(FATAL_ERROR "what is right does not compile:\n${out}")
endif()
set(case 0)
set(failed 0)
foreach(words IN LISTS expected)
    math(EXPR case "${case} + 1")
    compile(${case})
    string(REPLACE ";" "," out "${out}")   # lists are split there
    string(REGEX MATCHALL "error: [^\n]*" errors "${out}")
    list(LENGTH errors count)
    string(FIND "${errors}" "${words}" at)
    if(code EQUAL 0 OR at EQUAL -1 OR NOT count EQUAL 1)
        message("case ${case}: expected one error, \"${words}\", not ${count}:\n${out}")
        math(EXPR failed "${failed} + 1")
    endif()
endforeach()
if(failed)
    message(FATAL_ERROR "${failed} of ${case} cases are not refused as they should be")
endif()
