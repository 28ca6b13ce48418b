// SPDX-License-Identifier: Apache-2.0
// Messages between two ranks.
#include "src/c_api/arguments.hpp"

using namespace sinew;
using namespace sinew::c_api;

int sinew_send(sinew_communicator* comm, void const* data, size_t count, sinew_type type, int to,
               int tag, sinew_options const* options) {
    return guarded([&] {
        communicator_of(comm).send({data, count, data_type(type)}, to, tag, call_options(options));
    });
}

int sinew_recv(sinew_communicator* comm, void* data, size_t count, sinew_type type, int from,
               int tag, sinew_options const* options, sinew_received* received) {
    return guarded([&] {
        Received const result = communicator_of(comm).recv({data, count, data_type(type)}, from,
                                                           tag, call_options(options));
        if (received != nullptr) *received = received_of(result);
    });
}

int sinew_sendrecv(sinew_communicator* comm, void const* out, size_t out_count, int to, void* in,
                   size_t in_count, int from, sinew_type type, int tag,
                   sinew_options const* options, sinew_received* received) {
    return guarded([&] {
        DataType const elements = data_type(type);
        Received const result =
            communicator_of(comm).sendrecv({out, out_count, elements}, to, {in, in_count, elements},
                                           from, tag, call_options(options));
        if (received != nullptr) *received = received_of(result);
    });
}

int sinew_isend(sinew_communicator* comm, void const* data, size_t count, sinew_type type, int to,
                int tag, sinew_options const* options, sinew_request** request) {
    return guarded([&] {
        start_request(comm, request, [&](Communicator& of) {
            return of.isend({data, count, data_type(type)}, to, tag, call_options(options));
        });
    });
}

int sinew_irecv(sinew_communicator* comm, void* data, size_t count, sinew_type type, int from,
                int tag, sinew_options const* options, sinew_request** request) {
    return guarded([&] {
        start_request(comm, request, [&](Communicator& of) {
            return of.irecv({data, count, data_type(type)}, from, tag, call_options(options));
        });
    });
}
