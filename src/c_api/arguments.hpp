// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
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

/// Throws UsageError unless options say the size of their struct. Once members are appended, the sizes of
/// earlier versions are accepted, too.
void require_size(size_t given, size_t expected, char const* initializer);

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
