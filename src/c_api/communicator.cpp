// SPDX-License-Identifier: Apache-2.0
// What a communicator tells, the communicators made from it, and memory that its nodes share.
#include <memory>

#include "src/c_api/arguments.hpp"

using namespace sinew;
using namespace sinew::c_api;

namespace {

bool has_rank(sinew_communicator const* comm, int rank) {
    return comm != nullptr && rank >= 0 && rank < comm->comm->size();
}

/// Stores the communicator that `make` returns.
template <class Make>
int make_part(sinew_communicator* comm, sinew_communicator** part, Make&& make) {
    return guarded([&] {
        required(part, "the pointer for the communicator");
        Communicator& parent = communicator_of(comm);
        *part = std::make_unique<sinew_communicator>(make(parent), *comm).release();
    });
}

}  // namespace

int sinew_rank(sinew_communicator const* comm) { return comm != nullptr ? comm->comm->rank() : -1; }

int sinew_size(sinew_communicator const* comm) { return comm != nullptr ? comm->comm->size() : -1; }

int sinew_nodes(sinew_communicator const* comm) {
    return comm != nullptr ? comm->comm->nodes().nodes() : -1;
}

int sinew_node_of(sinew_communicator const* comm, int rank) {
    return has_rank(comm, rank) ? comm->comm->nodes().node_of[static_cast<std::size_t>(rank)] : -1;
}

int sinew_local_rank(sinew_communicator const* comm) {
    return comm != nullptr ? comm->comm->nodes().local_rank : -1;
}

int sinew_local_size(sinew_communicator const* comm) {
    return comm != nullptr ? comm->comm->nodes().local_size : -1;
}

int sinew_max_tag(sinew_communicator const* comm) {
    return comm != nullptr ? comm->comm->max_tag() : -1;
}

char const* sinew_host_of(sinew_communicator const* comm, int rank) {
    return has_rank(comm, rank) ? comm->comm->nodes().host_of(rank).c_str() : nullptr;
}

int sinew_split(sinew_communicator* comm, int color, int key, sinew_communicator** part) {
    if (color != SINEW_NO_COLOR)
        return make_part(comm, part, [&](Communicator& all) { return all.split(color, key); });
    return guarded([&] {
        required(part, "the pointer for the communicator");
        communicator_of(comm).split_none();
        *part = nullptr;
    });
}

int sinew_split_node(sinew_communicator* comm, sinew_communicator** part) {
    return make_part(comm, part, [](Communicator& all) { return all.split_node(); });
}

int sinew_dup(sinew_communicator* comm, sinew_communicator** copy) {
    return make_part(comm, copy, [](Communicator& all) { return all.dup(); });
}

int sinew_shrink(sinew_communicator* comm, int64_t timeout_ns, sinew_communicator** left) {
    return make_part(comm, left, [&](Communicator& all) {
        if (timeout_ns < 0)
            throw UsageError(
                text("sinew_shrink: timeout_ns is ", timeout_ns, " (expected at least 0)"));
        return all.shrink(std::chrono::nanoseconds(timeout_ns));
    });
}

int sinew_communicator_destroy(sinew_communicator* comm) {
    return guarded([&] {
        if (comm == nullptr) return;
        if (!comm->own)
            throw UsageError(text("rank ", comm->comm->rank(), " of ", comm->comm->size(),
                                  ": this communicator belongs to its world. Use "
                                  "sinew_world_destroy"));
        delete comm;
    });
}

int sinew_explain(sinew_communicator const* comm, char const* name, char* words, size_t room,
                  size_t* needed) {
    return guarded([&] {
        store_text(required(comm, "the communicator").comm->explain(collective(name)), words, room,
                   needed);
    });
}

int sinew_algorithm_for(sinew_communicator const* comm, char const* name, size_t bytes,
                        sinew_type type, sinew_op op, char* words, size_t room, size_t* needed) {
    return guarded([&] {
        store_text(
            required(comm, "the communicator")
                .comm->algorithm_for(collective(name), bytes, data_type(type), reduce_op(op)),
            words, room, needed);
    });
}

int sinew_allocate(sinew_communicator* comm, size_t bytes, sinew_memory** memory) {
    return guarded([&] {
        required(memory, "the pointer for the memory");
        Communicator& of = communicator_of(comm);
        auto const buffer = of.allocate<unsigned char>(bytes);
        *memory = new sinew_memory{buffer.memory(), buffer.data(), buffer.shared()};
    });
}

void* sinew_memory_data(sinew_memory const* memory) {
    return memory != nullptr ? memory->data : nullptr;
}

int sinew_memory_shared(sinew_memory const* memory) {
    return memory != nullptr && memory->shared ? 1 : 0;
}

void sinew_memory_destroy(sinew_memory* memory) { delete memory; }
