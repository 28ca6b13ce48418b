// SPDX-License-Identifier: Apache-2.0
#include "src/pmpi/calls/rooted_movement_calls.hpp"

#include "collectives/node/node_call.hpp"

namespace sinew::pmpi {

namespace node = collectives::node;

template <class P>
CallOutcome Gather<P>::check(CommRoute const& route) const {
    if (root < 0 || root >= route.size) return CallOutcome::arguments;
    bool const at_root = route.rank == root, in_place = send == MPI_IN_PLACE;
    bool const wrong =
        (in_place && !at_root) || (!in_place && refused(send, count, send_type)) ||
        (at_root && refused_parts(parts, receive, type, route.size)) ||
        (at_root && !in_place &&
         bytes_of(send_type, count) != TypePacking(type).bytes(parts.elements(root)));
    return wrong ? CallOutcome::arguments : CallOutcome::taken;
}

template <class P>
CallOutcome Gather<P>::run(CollectiveCall& call) const {
    if (auto const outcome = check(call.route); outcome != CallOutcome::taken) return outcome;
    CallScratch scratch(call);
    call.args.root = root;
    if (!call.at_root()) {
        RankMessage const message(scratch, send_type, send, count);
        message.pack();
        call.args.in = message.data();
        call.args.count = message.bytes();
        call.run(node::gather);
        return CallOutcome::taken;
    }
    bool const in_place = send == MPI_IN_PLACE;
    TypePacking const packing = parts.packing(type, receive, call.size());
    PartBytes const out(scratch, parts, packing, receive, call.size());
    if (!in_place) pack_own(out, root, send, count, send_type);
    call.args.out = out.data();
    call.args.blocks = out.blocks();
    call.args.count = out.bytes(root);
    call.run(node::gather);
    call.afterwards([this, out, packing, in_place, size = call.size()] {
        for (int r = 0; r < size; ++r)
            if (!in_place || r != root) out.unpack(parts, packing, receive, r);
    });
    return CallOutcome::taken;
}

template <class P>
CallOutcome Gather<P>::post(NonBlockingCall& call) const {
    if (!equal) return CallOutcome::in_background;
    if (auto const outcome = check(call.route()); outcome != CallOutcome::taken) return outcome;
    bool const at_root = call.rank() == root, in_place = send == MPI_IN_PLACE;
    TypePacking const packing(at_root ? type : send_type);
    auto const elements = static_cast<std::size_t>(at_root ? parts.count : count);
    std::size_t const block = packing.bytes(elements);
    auto const outcome = call.plan(block, Pattern::to_root, root);
    if (outcome != CallOutcome::taken) return outcome;
    if (!in_place) call.send(send_type, send, static_cast<std::size_t>(count));
    for (int r = 0; at_root && r < call.size(); ++r)
        if (!in_place || r != root)
            call.receive(r, 0, type, packing.at(receive, parts.offset(r)), elements,
                         block * call.ranks());
    return outcome;
}

template <class P>
CallOutcome Scatter<P>::check(CommRoute const& route) const {
    if (root < 0 || root >= route.size) return CallOutcome::arguments;
    bool const at_root = route.rank == root, in_place = receive == MPI_IN_PLACE;
    bool const wrong =
        (in_place && !at_root) || (!in_place && refused(receive, count, type)) ||
        (at_root && refused_parts(parts, send, send_type, route.size)) ||
        (at_root && !in_place &&
         bytes_of(type, count) != TypePacking(send_type).bytes(parts.elements(root)));
    return wrong ? CallOutcome::arguments : CallOutcome::taken;
}

template <class P>
CallOutcome Scatter<P>::run(CollectiveCall& call) const {
    if (auto const outcome = check(call.route); outcome != CallOutcome::taken) return outcome;
    call.args.root = root;
    if (call.at_root()) {
        run_at_root(call);
        return CallOutcome::taken;
    }
    CallScratch scratch(call);
    RankMessage const message(scratch, type, receive, count);
    call.args.out = message.data();
    call.args.count = message.bytes();
    call.run(node::scatter);
    call.afterwards([message] { message.unpack(); });
    return CallOutcome::taken;
}

template <class P>
void Scatter<P>::run_at_root(CollectiveCall& call) const {
    bool const in_place = receive == MPI_IN_PLACE;
    CallScratch scratch(call);
    TypePacking const packing = parts.packing(send_type, send, call.size());
    PartBytes const in(scratch, parts, packing, const_cast<void*>(send), call.size());
    for (int r = 0; r < call.size(); ++r)
        if (!in_place || r != root) in.pack(parts, packing, send, r);
    auto const own = static_cast<std::size_t>(count);
    if (!in_place) TypePacking(type, receive, own).unpack(receive, in.of(root), own);
    call.args.in = in.data();
    call.args.blocks = in.blocks();
    call.args.count = in.bytes(root);
    call.run(node::scatter);
}

template <class P>
CallOutcome Scatter<P>::post(NonBlockingCall& call) const {
    if (!equal) return CallOutcome::in_background;
    if (auto const outcome = check(call.route()); outcome != CallOutcome::taken) return outcome;
    bool const at_root = call.rank() == root;
    std::size_t const block = at_root ? bytes_of(send_type, parts.count) : bytes_of(type, count);
    auto const outcome = call.plan(block * call.ranks(), Pattern::from_root, root);
    if (outcome != CallOutcome::taken) return outcome;
    if (at_root) call.send(send_type, send, static_cast<std::size_t>(parts.count) * call.ranks());
    if (receive != MPI_IN_PLACE)
        call.receive(root, block * static_cast<std::size_t>(call.rank()), type, receive,
                     static_cast<std::size_t>(count), block);
    return outcome;
}

template struct Gather<RankParts<int, int>>;
template struct Scatter<RankParts<int, int>>;
#if SINEW_MPI_LARGE_COUNTS
template struct Gather<RankParts<MPI_Count, MPI_Aint>>;
template struct Scatter<RankParts<MPI_Count, MPI_Aint>>;
#endif

}  // namespace sinew::pmpi
