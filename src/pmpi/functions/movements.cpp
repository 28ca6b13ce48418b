// SPDX-License-Identifier: Apache-2.0
// Bcast, Allgather(v), Alltoall(v) and Barrier.
#include "src/pmpi/functions/movements.hpp"

#include "src/pmpi/functions/interpose.hpp"

namespace sinew::pmpi {

namespace {

namespace node = collectives::node;

template <class Mpi>
int bcast(void* buffer, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm,
          Mpi const& mpi) {
    auto const ours = [&](CollectiveCall& call) {
        if (root < 0 || root >= call.size() || refused(buffer, count, type))
            return CallOutcome::arguments;
        CallScratch scratch;
        RankMessage const message(scratch, TypePacking(type), buffer, count);
        call.args.root = root;
        if (call.at_root()) message.pack();
        call.args.out = message.data();
        call.args.count = message.bytes();
        if (message.bytes() > 0) call.run(node::broadcast);
        if (!call.at_root()) message.unpack();
        return CallOutcome::taken;
    };
    return execute(MpiFunction::bcast, comm, ours, mpi);
}

template <class P, class Mpi>
int allgather(MpiFunction function, void const* send, MPI_Count count, MPI_Datatype send_type,
              void* receive, P const& parts, MPI_Datatype type, MPI_Comm comm, Mpi const& mpi) {
    auto const ours = [&](CollectiveCall& call) {
        bool const in_place = send == MPI_IN_PLACE;
        if (type == MPI_DATATYPE_NULL || !parts.valid(call.size()) ||
            (!in_place && refused(send, count, send_type)))
            return CallOutcome::arguments;
        CallScratch scratch;
        TypePacking const packing(type);
        PartBytes const out(scratch, parts, packing, receive, call.size());
        if (missing(out.data(), out.total())) return CallOutcome::arguments;
        if (in_place) out.pack(parts, packing, receive, call.rank());
        else if (!pack_own(out, call.rank(), send, count, send_type)) return CallOutcome::arguments;
        call.args.out = out.data();
        call.args.blocks = out.blocks();
        call.args.count = out.bytes(call.rank());
        call.run(node::allgather);
        for (int r = 0; r < call.size(); ++r)
            if (!in_place || r != call.rank()) out.unpack(parts, packing, receive, r);
        return CallOutcome::taken;
    };
    return execute(function, comm, ours, mpi);
}

template <class P, class Mpi>
int alltoall(MpiFunction function, void const* send, P const& sent_parts, MPI_Datatype send_type,
             void* receive, P const& parts, MPI_Datatype type, MPI_Comm comm, Mpi const& mpi) {
    auto const ours = [&](CollectiveCall& call) {
        bool const in_place = send == MPI_IN_PLACE;
        if (type == MPI_DATATYPE_NULL || !parts.valid(call.size()) ||
            (!in_place && (send_type == MPI_DATATYPE_NULL || !sent_parts.valid(call.size()))))
            return CallOutcome::arguments;
        CallScratch scratch;
        TypePacking const packing(type);
        PartBytes const out(scratch, parts, packing, receive, call.size());
        if (missing(out.data(), out.total())) return CallOutcome::arguments;
        if (in_place) {
            // The parts are sent from a copy, which has the places of the result.
            TypePacking const bytes(MPI_BYTE);
            auto* const copy = scratch.take(out.total());
            auto const offsets =
                scratch.take_array<std::size_t>(static_cast<std::size_t>(call.size()));
            auto const sizes = scratch.take_array<std::size_t>(offsets.size());
            std::size_t offset = 0;
            for (int r = 0; r < call.size(); ++r) {
                auto const i = static_cast<std::size_t>(r);
                packing.pack(copy + offset, packing.at(receive, parts.offset(r)),
                             parts.elements(r));
                offsets[i] = offset;
                sizes[i] = out.bytes(r);
                offset += sizes[i];
            }
            call.args.in = copy;
            call.args.sent = collectives::Blocks::listed(sizes, offsets, 1);
        } else {
            TypePacking const packing_sent(send_type);
            PartBytes const in(scratch, sent_parts, packing_sent, const_cast<void*>(send),
                               call.size());
            if (missing(in.data(), in.total())) return CallOutcome::arguments;
            for (int r = 0; r < call.size(); ++r) in.pack(sent_parts, packing_sent, send, r);
            call.args.in = in.data();
            call.args.sent = in.blocks();
        }
        call.args.out = out.data();
        call.args.blocks = out.blocks();
        call.args.count = out.bytes(call.rank());
        call.run(node::alltoall);
        for (int r = 0; r < call.size(); ++r) out.unpack(parts, packing, receive, r);
        return CallOutcome::taken;
    };
    return execute(function, comm, ours, mpi);
}

}  // namespace

}  // namespace sinew::pmpi

using namespace sinew::pmpi;

extern "C" int MPI_Barrier(MPI_Comm comm) {
    auto const ours = [](CollectiveCall& call) {
        call.run(sinew::collectives::node::barrier);
        return CallOutcome::taken;
    };
    return execute(MpiFunction::barrier, comm, ours, [comm] { return real().Barrier(comm); });
}
SINEW_ALSO_AS_PMPI(Barrier)

// The functions of MPI; with SUFFIX _c those with large counts.
#define SINEW_MOVEMENTS(SUFFIX, COUNT, OFFSET)                                                    \
    extern "C" int MPI_Bcast##SUFFIX(void* buffer, COUNT count, MPI_Datatype type, int root,      \
                                     MPI_Comm comm) {                                             \
        return bcast(buffer, count, type, root, comm,                                             \
                     [&] { return real().Bcast##SUFFIX(buffer, count, type, root, comm); });      \
    }                                                                                             \
    extern "C" int MPI_Allgather##SUFFIX(void const* send, COUNT sent, MPI_Datatype send_type,    \
                                         void* receive, COUNT count, MPI_Datatype type,           \
                                         MPI_Comm comm) {                                         \
        return allgather(MpiFunction::allgather, send, sent, send_type, receive,                  \
                         RankParts<COUNT, OFFSET>{nullptr, nullptr, count}, type, comm, [&] {     \
                             return real().Allgather##SUFFIX(send, sent, send_type, receive,      \
                                                             count, type, comm);                  \
                         });                                                                      \
    }                                                                                             \
    extern "C" int MPI_Allgatherv##SUFFIX(                                                        \
        void const* send, COUNT sent, MPI_Datatype send_type, void* receive, COUNT const* counts, \
        OFFSET const* offsets, MPI_Datatype type, MPI_Comm comm) {                                \
        auto const mpi = [&] {                                                                    \
            return real().Allgatherv##SUFFIX(send, sent, send_type, receive, counts, offsets,     \
                                             type, comm);                                         \
        };                                                                                        \
        if (counts == nullptr) return mpi();                                                      \
        return allgather(MpiFunction::allgatherv, send, sent, send_type, receive,                 \
                         RankParts<COUNT, OFFSET>{counts, offsets}, type, comm, mpi);             \
    }                                                                                             \
    extern "C" int MPI_Alltoall##SUFFIX(void const* send, COUNT sent, MPI_Datatype send_type,     \
                                        void* receive, COUNT count, MPI_Datatype type,            \
                                        MPI_Comm comm) {                                          \
        return alltoall(MpiFunction::alltoall, send,                                              \
                        RankParts<COUNT, OFFSET>{nullptr, nullptr, sent}, send_type, receive,     \
                        RankParts<COUNT, OFFSET>{nullptr, nullptr, count}, type, comm, [&] {      \
                            return real().Alltoall##SUFFIX(send, sent, send_type, receive, count, \
                                                           type, comm);                           \
                        });                                                                       \
    }                                                                                             \
    extern "C" int MPI_Alltoallv##SUFFIX(                                                         \
        void const* send, COUNT const* sent, OFFSET const* sent_offsets, MPI_Datatype send_type,  \
        void* receive, COUNT const* counts, OFFSET const* offsets, MPI_Datatype type,             \
        MPI_Comm comm) {                                                                          \
        auto const mpi = [&] {                                                                    \
            return real().Alltoallv##SUFFIX(send, sent, sent_offsets, send_type, receive, counts, \
                                            offsets, type, comm);                                 \
        };                                                                                        \
        if (counts == nullptr || (send != MPI_IN_PLACE && sent == nullptr)) return mpi();         \
        return alltoall(MpiFunction::alltoallv, send,                                             \
                        RankParts<COUNT, OFFSET>{sent, sent_offsets}, send_type, receive,         \
                        RankParts<COUNT, OFFSET>{counts, offsets}, type, comm, mpi);              \
    }                                                                                             \
    SINEW_ALSO_AS_PMPI(Bcast##SUFFIX)                                                             \
    SINEW_ALSO_AS_PMPI(Allgather##SUFFIX)                                                         \
    SINEW_ALSO_AS_PMPI(Allgatherv##SUFFIX)                                                        \
    SINEW_ALSO_AS_PMPI(Alltoall##SUFFIX)                                                          \
    SINEW_ALSO_AS_PMPI(Alltoallv##SUFFIX)

SINEW_MOVEMENTS(, int, int)
#if SINEW_MPI_LARGE_COUNTS
SINEW_MOVEMENTS(_c, MPI_Count, MPI_Aint)
#endif
