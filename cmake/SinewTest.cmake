# SPDX-License-Identifier: Apache-2.0
# sinew_add_test(name SOURCES a.cpp... [RANKS n...] [LABELS l...] [TIMEOUT s] [LIBS t...] [ENV K=V...]
#                [CHECKED])
# sinew_add_test(name COMMAND target arguments... [RANKS n...] [LABELS l...] [TIMEOUT s] [ENV K=V...]
#                [CHECKED])
#
# One GoogleTest program, or a program that is built anyway. Tests with the same PROGRAM share one executable,
# which is quicker to build; each ctest entry runs the tests of its own sources in it (tests/support/main.cpp). The executable's name
# is a label, too. Without RANKS it is one ctest entry;
# with RANKS it is one entry name/n for each count, started by the mpiexec of the MPI we build
# with, labelled mpi, and left out when there is no MPI. Exit code 77 means skipped. TIMEOUT (60)
# is what an idle machine needs at most; the limit is three times that, for busy machines and sanitizers.
#
# Tests run as programs do, with SINEW_CHECK=0. CHECKED adds a second entry name/checked (with RANKS:
# name/n/checked) with SINEW_CHECK=1, where all ranks compare each call before it begins.
find_package(GTest QUIET)
if(NOT TARGET GTest::gmock)
    message(FATAL_ERROR "sinew: the tests need GoogleTest. Debian: apt-get install libgtest-dev "
        "libgmock-dev, or configure with -DSINEW_BUILD_TESTS=OFF")
endif()

# SINEW_CHECK=0: with 1 every collective call is preceded by a barrier in effect, and would never meet
# the messages of the one before. The rest lets more ranks than cores share a machine, as root and in
# a container too; each MPI reads only its own.
set(SINEW_TEST_ENVIRONMENT
    SINEW_CHECK=0
    OMPI_MCA_mpi_yield_when_idle=1
    OMPI_MCA_rmaps_base_oversubscribe=1
    OMPI_ALLOW_RUN_AS_ROOT=1
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    ASAN_OPTIONS=detect_stack_use_after_return=1
    LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/cmake/lsan.supp:print_suppressions=0
    UBSAN_OPTIONS=print_stacktrace=1
    TSAN_OPTIONS=second_deadlock_stack=1)

# Leaks of MPI's own show as such only by stacks through code without frame pointers, which cost a third of such a
# test's time at full depth; other people's programs are not asked.
set(SINEW_ASAN_MPI_TEST ASAN_OPTIONS=fast_unwind_on_malloc=0:malloc_context_size=8)
set(SINEW_ASAN_MPI_COMMAND ASAN_OPTIONS=detect_leaks=0)

# Whatever starts it (a program or a script), a test has a time limit, an environment, labels.
function(sinew_test_properties test)
    cmake_parse_arguments(arg "" "TIMEOUT" "LABELS;ENV" ${ARGN})
    if(NOT arg_TIMEOUT)
        set(arg_TIMEOUT 60)
    endif()
    if(arg_LABELS MATCHES "(^|;)(mpi|run)(;|$)")
        list(APPEND arg_LABELS mpi_tests)
    endif()
    set(cost ${arg_TIMEOUT})   # what may take long begins first, so that nothing long is left for the end
    math(EXPR arg_TIMEOUT "3 * ${arg_TIMEOUT}")
    set_tests_properties(${test} PROPERTIES COST ${cost}
        TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABELS}" SKIP_RETURN_CODE 77
        ENVIRONMENT "${SINEW_TEST_ENVIRONMENT};${arg_ENV}")
endfunction()

function(sinew_test_program name ranks)
    cmake_parse_arguments(arg "" "" "SOURCES;LIBS" ${ARGN})
    add_executable(${name} ${arg_SOURCES})
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
    target_link_libraries(${name} PRIVATE ${arg_LIBS} sinew_test_support sinew::sinew GTest::gmock)
    if(ranks AND TARGET sinew_test_mpi_main)
        target_link_libraries(${name} PRIVATE sinew_test_mpi_main)
    else()
        target_link_libraries(${name} PRIVATE sinew_test_main)
    endif()
    if(ranks AND SINEW_SANITIZE MATCHES "address")
        target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/keep_plugins.cpp)
    endif()
endfunction()

# Target mpi_tests builds, and label mpi_tests has, what depends on which MPI it is: tests labelled mpi or run.
add_custom_target(mpi_tests)

# Optimised, as other tests are not.
function(sinew_test_computes target)
    target_compile_options(${target} PRIVATE -O1)
endfunction()

# Adds the sources to the executable that several tests share, and makes it for the first of them.
function(sinew_shared_test_program program)
    cmake_parse_arguments(arg "" "" "SOURCES;LIBS" ${ARGN})
    if(TARGET ${program})
        target_sources(${program} PRIVATE ${arg_SOURCES})
        target_link_libraries(${program} PRIVATE ${arg_LIBS})
    else()
        sinew_test_program(${program} "" SOURCES ${arg_SOURCES} LIBS ${arg_LIBS})
        set_target_properties(${program} PROPERTIES
            UNITY_BUILD ${SINEW_UNITY_TESTS} UNITY_BUILD_BATCH_SIZE 10)
        # Names of one test's anonymous namespace shadow nothing of the next one's, and are in no header.
        target_compile_options(${program} PRIVATE -Wno-shadow
            $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
        set_property(GLOBAL APPEND PROPERTY SINEW_SHARED_TEST_PROGRAMS ${program})
    endif()
endfunction()

# files: those among the sources that have tests, as --files wants them.
function(sinew_test_files files)
    cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME folder)
    set(found "")
    foreach(source IN LISTS ARGN)
        if(source MATCHES "_test\\.cpp$")
            cmake_path(GET source FILENAME name)
            cmake_path(GET source PARENT_PATH parent)
            if(parent)
                cmake_path(GET parent FILENAME parent)
            else()
                set(parent ${folder})
            endif()
            list(APPEND found ${parent}/${name})
        endif()
    endforeach()
    list(JOIN found "," found)
    set(${files} "${found}" PARENT_SCOPE)
endfunction()

# To be called once all tests are there: each shared program has a test that no test in it was forgotten.
function(sinew_check_shared_test_programs)
    get_property(programs GLOBAL PROPERTY SINEW_SHARED_TEST_PROGRAMS)
    foreach(program IN LISTS programs)
        get_property(files GLOBAL PROPERTY SINEW_FILES_OF_${program})
        list(JOIN files "," files)
        add_test(NAME ${program}_complete COMMAND ${program} --all-files=${files})
        sinew_test_properties(${program}_complete)
    endforeach()
endfunction()

function(sinew_add_test name)
    cmake_parse_arguments(arg "CHECKED" "TIMEOUT;PROGRAM" "SOURCES;COMMAND;RANKS;LABELS;LIBS;ENV" ${ARGN})
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "sinew_add_test(${name}): does not know ${arg_UNPARSED_ARGUMENTS}")
    endif()
    if(arg_RANKS AND NOT SINEW_HAVE_MPI)
        return()
    endif()
    if(arg_COMMAND)
        set(asan ${SINEW_ASAN_MPI_COMMAND})
    else()
        set(asan ${SINEW_ASAN_MPI_TEST})
        if(arg_PROGRAM)
            sinew_test_files(files ${arg_SOURCES})
            set_property(GLOBAL APPEND PROPERTY SINEW_FILES_OF_${arg_PROGRAM} ${files})
            set(arg_COMMAND ${arg_PROGRAM} --files=${files})
            sinew_shared_test_program(${arg_PROGRAM} SOURCES ${arg_SOURCES} LIBS ${arg_LIBS})
        else()
            set(arg_COMMAND ${name})
            sinew_test_program(${name} "${arg_RANKS}" SOURCES ${arg_SOURCES} LIBS ${arg_LIBS})
        endif()
    endif()
    set(variants plain)
    if(arg_CHECKED)
        list(APPEND variants checked)
    endif()
    list(POP_FRONT arg_COMMAND program)
    foreach(variant IN LISTS variants)
        set(environment ${arg_ENV})
        set(check "")
        if(variant STREQUAL "checked")
            list(APPEND environment SINEW_CHECK=1)
            set(check /checked)
        endif()
        if(arg_RANKS OR arg_LABELS MATCHES "(^|;)(mpi|run)(;|$)")
            add_dependencies(mpi_tests ${program})
        endif()
        if(NOT arg_RANKS)
            add_test(NAME ${name}${check} COMMAND ${program} ${arg_COMMAND})
            sinew_test_properties(${name}${check}
                LABELS ${arg_LABELS} ${program} TIMEOUT ${arg_TIMEOUT} ENV ${environment})
        endif()
        foreach(ranks IN LISTS arg_RANKS)
            add_test(NAME ${name}/${ranks}${check}
                COMMAND ${MPIEXEC_EXECUTABLE} ${SINEW_MPIEXEC_FLAGS} ${MPIEXEC_NUMPROC_FLAG} ${ranks}
                    $<TARGET_FILE:${program}> ${arg_COMMAND})
            sinew_test_properties(${name}/${ranks}${check}
                LABELS mpi ${arg_LABELS} ${program} TIMEOUT ${arg_TIMEOUT} ENV ${asan} ${environment})
            set_tests_properties(${name}/${ranks}${check} PROPERTIES PROCESSORS ${ranks})
        endforeach()
    endforeach()
endfunction()
