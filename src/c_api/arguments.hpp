// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>

#include <sinew/sinew.h>
#include <sinew/communicator.hpp>

#include "src/c_api/guard.hpp"
#include "src/c_api/handles.hpp"

namespace sinew::c_api {

/// The C arguments of a call as those of Communicator. They throw UsageError naming the value.
DataType data_type(sinew_type type);
ReduceOp const& reduce_op(sinew_op op);
CallOptions call_options(sinew_options const* options);
Collective collective(char const* name);
sinew_received received_of(Received const& received);
Parts parts_of(Communicator const& comm, size_t const* counts, size_t const* offsets);

/// Throws UsageError unless options say the size of their struct. Once members are appended, it is
/// replaced by `with_defaults`.
void require_size(size_t given, size_t expected, char const* initializer);

/// The options of a program, which may have been compiled with an earlier version of their struct: what it
/// lacks is as in `defaults`. `least` is the size of the first version.
template <class Struct>
Struct with_defaults(Struct const& given, Struct const& defaults, std::size_t least,
                     char const* initializer) {
    if (given.size < least || given.size > sizeof(Struct))
        throw UsageError(text("the options say that their size is ", given.size, " (expected ",
                              least, " to ", sizeof(Struct), "). Begin with ", initializer));
    Struct result = defaults;
    std::memcpy(&result, &given, given.size);
    return result;
}

inline Communicator& communicator_of(sinew_communicator* comm) {
    return *required(comm, "the communicator").comm;
}

/// Stores `words` as sinew_explain does.
void store_text(std::string_view words, char* to, size_t room, size_t* needed);

/// Stores a new request. Reserves its memory before the operation starts, so that nothing that has
/// started is forgotten.
template <class Start>
void start_request(sinew_communicator* comm, sinew_request** request, Start&& start) {
    required(request, "the pointer for the request");
    required(comm, "the communicator");
    auto made = std::make_unique<sinew_request>(Request(), *comm);
    made->request = start(*comm->comm);
    *request = made.release();
}

/// Stores a new persistent call.
template <class Make>
void make_persistent(sinew_communicator* comm, sinew_persistent** persistent, Make&& make) {
    required(persistent, "the pointer for the persistent call");
    Communicator& of = communicator_of(comm);
    *persistent = std::make_unique<sinew_persistent>(make(of), *comm).release();
}

}  // namespace sinew::c_api
