// SPDX-License-Identifier: Apache-2.0
#include "src/pmpi/calls/movement_calls.hpp"

#include <algorithm>

namespace sinew::pmpi {

namespace node = collectives::node;

CallOutcome Bcast::check(CommRoute const& route) const {
    return root < 0 || root >= route.size || refused(buffer, count, type) ? CallOutcome::arguments
                                                                          : CallOutcome::taken;
}

CallOutcome Bcast::run(CollectiveCall& call) const {
    if (auto const outcome = check(call.route); outcome != CallOutcome::taken) return outcome;
    CallScratch scratch(call);
    RankMessage const message(scratch, type, buffer, count);
    call.args.root = root;
    if (call.at_root()) message.pack();
    call.args.out = message.data();
    call.args.count = message.bytes();
    if (message.bytes() > 0) call.run(node::broadcast);
    if (!call.at_root()) call.afterwards([message] { message.unpack(); });
    return CallOutcome::taken;
}

CallOutcome Bcast::post(NonBlockingCall& call) const {
    if (auto const outcome = check(call.route()); outcome != CallOutcome::taken) return outcome;
    TypePacking const packing(type);
    auto const elements = static_cast<std::size_t>(count);
    auto const outcome = call.plan(packing.bytes(elements), Pattern::from_root, root);
    if (outcome != CallOutcome::taken) return outcome;
    if (call.rank() == root) call.send(type, buffer, elements);
    else call.receive(root, 0, type, buffer, elements, call.posted->plan.bytes);
    return outcome;
}

template <class P>
CallOutcome Allgather<P>::check(CommRoute const& route) const {
    if (refused_parts(parts, receive, type, route.size)) return CallOutcome::arguments;
    if (send == MPI_IN_PLACE) return CallOutcome::taken;
    bool const fits =
        !refused(send, count, send_type) &&
        bytes_of(send_type, count) == TypePacking(type).bytes(parts.elements(route.rank));
    return fits ? CallOutcome::taken : CallOutcome::arguments;
}

template <class P>
CallOutcome Allgather<P>::run(CollectiveCall& call) const {
    if (auto const outcome = check(call.route); outcome != CallOutcome::taken) return outcome;
    bool const in_place = send == MPI_IN_PLACE;
    CallScratch scratch(call);
    TypePacking const packing = parts.packing(type, receive, call.size());
    PartBytes const out(scratch, parts, packing, receive, call.size());
    if (in_place) out.pack(parts, packing, receive, call.rank());
    else pack_own(out, call.rank(), send, count, send_type);
    call.args.out = out.data();
    call.args.blocks = out.blocks();
    call.args.count = out.bytes(call.rank());
    call.run(node::allgather);
    call.afterwards([this, out, packing, in_place, size = call.size(), rank = call.rank()] {
        for (int r = 0; r < size; ++r)
            if (!in_place || r != rank) out.unpack(parts, packing, receive, r);
    });
    return CallOutcome::taken;
}

template <class P>
CallOutcome Allgather<P>::post(NonBlockingCall& call) const {
    if (auto const outcome = check(call.route()); outcome != CallOutcome::taken) return outcome;
    bool const in_place = send == MPI_IN_PLACE;
    TypePacking const packing(type);
    std::size_t longest = 0, all = 0;
    for (int r = 0; r < call.size(); ++r) {
        std::size_t const bytes = packing.bytes(parts.elements(r));
        longest = std::max(longest, bytes);
        all += bytes;
    }
    auto const outcome = call.plan(longest);
    if (outcome != CallOutcome::taken) return outcome;
    if (in_place)
        call.send(type, packing.at(receive, parts.offset(call.rank())),
                  parts.elements(call.rank()));
    else call.send(send_type, send, static_cast<std::size_t>(count));
    for (int r = 0; r < call.size(); ++r)
        if (!in_place || r != call.rank())
            call.receive(r, 0, type, packing.at(receive, parts.offset(r)), parts.elements(r), all);
    return outcome;
}

template <class P>
CallOutcome Alltoall<P>::check(CommRoute const& route) const {
    bool const in_place = send == MPI_IN_PLACE;
    bool const wrong = refused_parts(parts, receive, type, route.size) ||
                       (!in_place && refused_parts(sent, send, send_type, route.size));
    return wrong ? CallOutcome::arguments : CallOutcome::taken;
}

template <class P>
CallOutcome Alltoall<P>::run(CollectiveCall& call) const {
    if (auto const outcome = check(call.route); outcome != CallOutcome::taken) return outcome;
    CallScratch scratch(call);
    TypePacking const packing = parts.packing(type, receive, call.size());
    PartBytes const out(scratch, parts, packing, receive, call.size());
    if (send == MPI_IN_PLACE) {
        // The parts are sent from a copy, which has the places of the result.
        auto* const copy = scratch.take(out.total());
        auto const offsets = scratch.take_array<std::size_t>(static_cast<std::size_t>(call.size()));
        auto const sizes = scratch.take_array<std::size_t>(offsets.size());
        std::size_t offset = 0;
        for (int r = 0; r < call.size(); ++r) {
            auto const i = static_cast<std::size_t>(r);
            packing.pack(copy + offset, packing.at(receive, parts.offset(r)), parts.elements(r));
            offsets[i] = offset;
            sizes[i] = out.bytes(r);
            offset += sizes[i];
        }
        call.args.in = copy;
        call.args.sent = collectives::Blocks::listed(sizes, offsets, 1);
    } else {
        TypePacking const packing_sent = sent.packing(send_type, send, call.size());
        PartBytes const in(scratch, sent, packing_sent, const_cast<void*>(send), call.size());
        for (int r = 0; r < call.size(); ++r) in.pack(sent, packing_sent, send, r);
        call.args.in = in.data();
        call.args.sent = in.blocks();
    }
    call.args.out = out.data();
    call.args.blocks = out.blocks();
    call.args.count = out.bytes(call.rank());
    call.run(node::alltoall);
    call.afterwards([this, out, packing, size = call.size()] {
        for (int r = 0; r < size; ++r) out.unpack(parts, packing, receive, r);
    });
    return CallOutcome::taken;
}

template <class P>
CallOutcome Alltoall<P>::post(NonBlockingCall& call) const {
    if (parts.counts != nullptr)
        return CallOutcome::in_background;  // no rank knows the longest message
    if (auto const outcome = check(call.route()); outcome != CallOutcome::taken) return outcome;
    TypePacking const packing(type);
    auto const elements = static_cast<std::size_t>(parts.count);
    std::size_t const block = packing.bytes(elements), all = block * call.ranks();
    auto const outcome = call.plan(all);
    if (outcome != CallOutcome::taken) return outcome;
    if (send == MPI_IN_PLACE) call.send(type, receive, elements * call.ranks());
    else call.send(send_type, send, static_cast<std::size_t>(sent.count) * call.ranks());
    if (call.message.size() != all) return CallOutcome::arguments;
    for (int r = 0; r < call.size(); ++r)
        call.receive(r, block * static_cast<std::size_t>(call.rank()), type,
                     packing.at(receive, parts.offset(r)), elements, all);
    return outcome;
}

template struct Allgather<RankParts<int, int>>;
template struct Alltoall<RankParts<int, int>>;
#if SINEW_MPI_LARGE_COUNTS
template struct Allgather<RankParts<MPI_Count, MPI_Aint>>;
template struct Alltoall<RankParts<MPI_Count, MPI_Aint>>;
#endif

}  // namespace sinew::pmpi
