# SPDX-License-Identifier: Apache-2.0
# cmake -DCOMMANDS=compile_commands.json -P this: fails where a peer of a benchmark (libzmq, Gloo, gRPC)
# shows in a definition that something is compiled with. Installing one must not compile all anew.
file(READ ${COMMANDS} commands)
string(REGEX MATCH "SINEW_HAVE_(ZMQ|GLOO|GRPC)=[01]" found "${commands}")
if(found)
    message(FATAL_ERROR "${COMMANDS} has ${found}. Peers of benchmarks are told to their benchmark "
        "alone: choose a source file, or target_compile_definitions(bench_... PRIVATE ...)")
endif()
