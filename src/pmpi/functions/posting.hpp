// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "src/pmpi/functions/movements.hpp"
#include "src/pmpi/requests/own_request.hpp"

/// The non-blocking collectives. Short ones are posted (see PostingQueue); MPI executes the others.
/// Whether one is short must be known to all ranks alike.
namespace sinew::pmpi {

using Pattern = PostedCollective::Message::Pattern;

/// One non-blocking collective that is about to be posted.
class NonBlockingCall {
public:
    NonBlockingCall(CommRoute const& route, MpiFunction function, MPI_Comm comm)
        : posted(std::make_shared<PostedCollective>(function, comm)), route_(route) {}

    std::shared_ptr<PostedCollective> const posted;
    std::span<std::byte const> message{};  ///< of this rank, as far as it has one

    int rank() const { return route_.rank; }
    int size() const { return route_.size; }
    std::size_t ranks() const { return static_cast<std::size_t>(route_.size); }

    /// Sets how the messages pass; `bytes`: of the longest.
    CallOutcome plan(std::size_t bytes, Pattern pattern = Pattern::all_to_all,
                     int root = -1) const {
        if (bytes > node_memory::Room::short_bytes) return CallOutcome::too_long;
        posted->plan = {.bytes = bytes, .pattern = pattern, .root = root};
        return CallOutcome::taken;
    }
    /// Elements of a buffer of the program are this rank's message.
    void send(TypePacking const& packing, void const* buffer, std::size_t elements) {
        RankMessage const own(scratch_, packing, buffer, static_cast<MPI_Count>(elements));
        own.pack();
        message = {own.data(), own.bytes()};
    }
    /// A part of a rank's message becomes elements of a buffer of the program. `most`: bytes of all
    /// parts that the call receives.
    void receive(int from, std::size_t offset, MPI_Datatype type, void* to, std::size_t elements,
                 std::size_t most) {
        TypePacking const packing(type);
        std::size_t const bytes = packing.bytes(elements);
        auto* place = static_cast<std::byte*>(to);
        if (!packing.flat()) {
            auto& unpacking = posted->unpacking;
            if (!unpacking) unpacking = std::make_unique<PostedCollective::Unpacking>(type, most);
            place = unpacking->bytes() + unpacked_;
            unpacking->add(unpacked_, elements, to);
            unpacked_ += bytes;
        }
        posted->pieces.push_back({.rank = from, .offset = offset, .bytes = bytes, .to = place});
    }

private:
    CommRoute const& route_;
    CallScratch scratch_;       // until it has been posted
    std::size_t unpacked_ = 0;  // bytes for which there is a place
};

/// Posts a call, or lets MPI execute it. `ours`, a `CallOutcome(NonBlockingCall&)`, must decide alike
/// on all ranks; it does not communicate.
template <class Ours, class Mpi>
int execute_posted(MpiFunction function, MPI_Comm comm, MPI_Request* request, Ours const& ours,
                   Mpi const& mpi) {
    CallOutcome outcome = CallOutcome::off;
    CommRoute* const route = find_made_route(comm, outcome);
    if (route == nullptr || request == nullptr) {
        if (MpiJob* const job = MpiJob::current())
            job->statistics().count(function, route == nullptr ? outcome : CallOutcome::arguments);
        return mpi();
    }
    try {
        if (route->lost) throw std::runtime_error("an earlier call on this communicator failed");
        NonBlockingCall call(*route, function, comm);
        outcome = ours(call);
        route->job->statistics().count(function, outcome);
        if (outcome != CallOutcome::taken) return mpi();
        return OwnRequest::post(*route->posted, call.posted, call.message, request);
    } catch (std::exception const& error) {
        return fail(function, comm, *route, error);
    }
}

}  // namespace sinew::pmpi
