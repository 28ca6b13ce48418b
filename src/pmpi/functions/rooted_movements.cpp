// SPDX-License-Identifier: Apache-2.0
// Gather(v) and Scatter(v). The arguments of one side mean nothing on the ranks of the other.
#include "src/pmpi/functions/movements.hpp"

#include "src/pmpi/functions/interpose.hpp"

namespace sinew::pmpi {

namespace {

namespace node = collectives::node;

/// A call that does one thing at the root and another elsewhere.
template <class AtRoot, class Elsewhere>
auto by_role(int root, AtRoot const& at_root, Elsewhere const& elsewhere) {
    return [&, root](CollectiveCall& call) {
        if (root < 0 || root >= call.size()) return CallOutcome::arguments;
        call.args.root = root;
        return call.at_root() ? at_root(call) : elsewhere(call);
    };
}

template <class P, class Mpi>
int gather(MpiFunction function, void const* send, MPI_Count count, MPI_Datatype send_type,
           void* receive, P const& parts, MPI_Datatype type, int root, MPI_Comm comm,
           Mpi const& mpi) {
    auto const at_root = [&](CollectiveCall& call) {
        bool const in_place = send == MPI_IN_PLACE;
        if (type == MPI_DATATYPE_NULL || !parts.valid(call.size()) ||
            (!in_place && refused(send, count, send_type)))
            return CallOutcome::arguments;
        CallScratch scratch;
        TypePacking const packing(type);
        PartBytes const out(scratch, parts, packing, receive, call.size());
        if (missing(out.data(), out.total())) return CallOutcome::arguments;
        if (!in_place && !pack_own(out, root, send, count, send_type))
            return CallOutcome::arguments;
        call.args.out = out.data();
        call.args.blocks = out.blocks();
        call.args.count = out.bytes(root);
        call.run(node::gather);
        for (int r = 0; r < call.size(); ++r)
            if (!in_place || r != root) out.unpack(parts, packing, receive, r);
        return CallOutcome::taken;
    };
    auto const elsewhere = [&](CollectiveCall& call) {
        if (send == MPI_IN_PLACE || refused(send, count, send_type)) return CallOutcome::arguments;
        CallScratch scratch;
        RankMessage const message(scratch, TypePacking(send_type), send, count);
        message.pack();
        call.args.in = message.data();
        call.args.count = message.bytes();
        call.run(node::gather);
        return CallOutcome::taken;
    };
    return execute(function, comm, by_role(root, at_root, elsewhere), mpi);
}

template <class P, class Mpi>
int scatter(MpiFunction function, void const* send, P const& parts, MPI_Datatype send_type,
            void* receive, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm,
            Mpi const& mpi) {
    auto const at_root = [&](CollectiveCall& call) {
        bool const in_place = receive == MPI_IN_PLACE;
        if (send_type == MPI_DATATYPE_NULL || !parts.valid(call.size()) ||
            (!in_place && refused(receive, count, type)))
            return CallOutcome::arguments;
        CallScratch scratch;
        TypePacking const packing(send_type);
        PartBytes const in(scratch, parts, packing, const_cast<void*>(send), call.size());
        if (missing(in.data(), in.total())) return CallOutcome::arguments;
        for (int r = 0; r < call.size(); ++r)
            if (!in_place || r != root) in.pack(parts, packing, send, r);
        if (!in_place) {
            TypePacking const received(type);
            auto const elements = static_cast<std::size_t>(count);
            if (received.bytes(elements) != in.bytes(root)) return CallOutcome::arguments;
            received.unpack(receive, in.of(root), elements);
        }
        call.args.in = in.data();
        call.args.blocks = in.blocks();
        call.args.count = in.bytes(root);
        call.run(node::scatter);
        return CallOutcome::taken;
    };
    auto const elsewhere = [&](CollectiveCall& call) {
        if (receive == MPI_IN_PLACE || refused(receive, count, type)) return CallOutcome::arguments;
        CallScratch scratch;
        RankMessage const message(scratch, TypePacking(type), receive, count);
        call.args.out = message.data();
        call.args.count = message.bytes();
        call.run(node::scatter);
        message.unpack();
        return CallOutcome::taken;
    };
    return execute(function, comm, by_role(root, at_root, elsewhere), mpi);
}

}  // namespace

}  // namespace sinew::pmpi

using namespace sinew::pmpi;

// The functions of MPI; with SUFFIX _c those with large counts.
#define SINEW_ROOTED_MOVEMENTS(SUFFIX, COUNT, OFFSET)                                              \
    extern "C" int MPI_Gather##SUFFIX(void const* send, COUNT sent, MPI_Datatype send_type,        \
                                      void* receive, COUNT count, MPI_Datatype type, int root,     \
                                      MPI_Comm comm) {                                             \
        return gather(MpiFunction::gather, send, sent, send_type, receive,                         \
                      RankParts<COUNT, OFFSET>{nullptr, nullptr, count}, type, root, comm, [&] {   \
                          return real().Gather##SUFFIX(send, sent, send_type, receive, count,      \
                                                       type, root, comm);                          \
                      });                                                                          \
    }                                                                                              \
    extern "C" int MPI_Gatherv##SUFFIX(void const* send, COUNT sent, MPI_Datatype send_type,       \
                                       void* receive, COUNT const* counts, OFFSET const* offsets,  \
                                       MPI_Datatype type, int root, MPI_Comm comm) {               \
        return gather(MpiFunction::gatherv, send, sent, send_type, receive,                        \
                      RankParts<COUNT, OFFSET>{counts, offsets, -1}, type, root, comm, [&] {       \
                          return real().Gatherv##SUFFIX(send, sent, send_type, receive, counts,    \
                                                        offsets, type, root, comm);                \
                      });                                                                          \
    }                                                                                              \
    extern "C" int MPI_Scatter##SUFFIX(void const* send, COUNT sent, MPI_Datatype send_type,       \
                                       void* receive, COUNT count, MPI_Datatype type, int root,    \
                                       MPI_Comm comm) {                                            \
        return scatter(MpiFunction::scatter, send,                                                 \
                       RankParts<COUNT, OFFSET>{nullptr, nullptr, sent}, send_type, receive,       \
                       count, type, root, comm, [&] {                                              \
                           return real().Scatter##SUFFIX(send, sent, send_type, receive, count,    \
                                                         type, root, comm);                        \
                       });                                                                         \
    }                                                                                              \
    extern "C" int MPI_Scatterv##SUFFIX(                                                           \
        void const* send, COUNT const* sent, OFFSET const* offsets, MPI_Datatype send_type,        \
        void* receive, COUNT count, MPI_Datatype type, int root, MPI_Comm comm) {                  \
        return scatter(MpiFunction::scatterv, send, RankParts<COUNT, OFFSET>{sent, offsets, -1},   \
                       send_type, receive, count, type, root, comm, [&] {                          \
                           return real().Scatterv##SUFFIX(send, sent, offsets, send_type, receive, \
                                                          count, type, root, comm);                \
                       });                                                                         \
    }                                                                                              \
    SINEW_ALSO_AS_PMPI(Gather##SUFFIX)                                                             \
    SINEW_ALSO_AS_PMPI(Gatherv##SUFFIX)                                                            \
    SINEW_ALSO_AS_PMPI(Scatter##SUFFIX)                                                            \
    SINEW_ALSO_AS_PMPI(Scatterv##SUFFIX)

SINEW_ROOTED_MOVEMENTS(, int, int)
#if SINEW_MPI_LARGE_COUNTS
SINEW_ROOTED_MOVEMENTS(_c, MPI_Count, MPI_Aint)
#endif
