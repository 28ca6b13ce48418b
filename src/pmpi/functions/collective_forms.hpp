// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/pmpi/functions/execute.hpp"
#include "src/pmpi/functions/interpose.hpp"

#define SINEW_LIST(...) __VA_ARGS__

// Defines the three forms of a collective: MPI_Bcast, MPI_Ibcast (`Iname` is Ibcast) and MPI_Bcast_init,
// with SUFFIX _c those with large counts. `id` is the MpiFunction of the first; PARAMETERS and ARGUMENTS,
// both in parentheses, are those before the communicator; CALL is an object of a class in calls/.
#define SINEW_COLLECTIVE_FORMS(Name, Iname, SUFFIX, id, PARAMETERS, ARGUMENTS, CALL)               \
    extern "C" int MPI_##Name##SUFFIX(SINEW_LIST PARAMETERS, MPI_Comm comm) {                      \
        return execute(MpiFunction::id, comm, CALL,                                                \
                       [&] { return real().Name##SUFFIX(SINEW_LIST ARGUMENTS, comm); });           \
    }                                                                                              \
    extern "C" int MPI_##Iname##SUFFIX(SINEW_LIST PARAMETERS, MPI_Comm comm,                       \
                                       MPI_Request* request) {                                     \
        return execute_non_blocking(non_blocking_form(MpiFunction::id), comm, request, CALL, [&] { \
            return real().Iname##SUFFIX(SINEW_LIST ARGUMENTS, comm, request);                      \
        });                                                                                        \
    }                                                                                              \
    extern "C" int MPI_##Name##_init##SUFFIX(SINEW_LIST PARAMETERS, MPI_Comm comm, MPI_Info info,  \
                                             MPI_Request* request) {                               \
        return execute_persistent(persistent_form(MpiFunction::id), comm, request, CALL, [&] {     \
            return if_there_is(real().Name##_init##SUFFIX, comm, SINEW_LIST ARGUMENTS, comm, info, \
                               request);                                                           \
        });                                                                                        \
    }                                                                                              \
    SINEW_ALSO_AS_PMPI(Name##SUFFIX)                                                               \
    SINEW_ALSO_AS_PMPI(Iname##SUFFIX)                                                              \
    SINEW_ALSO_AS_PMPI(Name##_init##SUFFIX)                                                        \
    SINEW_ALSO_AS_EXTENSION(Name##_init##SUFFIX)
