// SPDX-License-Identifier: Apache-2.0
// Ibcast, Iallgather(v), Igather, Iscatter, Ialltoall and Ibarrier. Of Igatherv, Iscatterv and
// Ialltoallv a rank does not know the longest message, so MPI executes them.
#include "src/pmpi/functions/interpose.hpp"
#include "src/pmpi/functions/posting.hpp"

namespace sinew::pmpi {

namespace {

template <class Mpi>
int ibcast(void* buffer, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm,
           MPI_Request* request, Mpi const& mpi) {
    auto const ours = [&](NonBlockingCall& call) {
        if (root < 0 || root >= call.size() || refused(buffer, count, type))
            return CallOutcome::arguments;
        TypePacking const packing(type);
        auto const elements = static_cast<std::size_t>(count);
        auto const outcome = call.plan(packing.bytes(elements), Pattern::from_root, root);
        if (outcome != CallOutcome::taken) return outcome;
        if (call.rank() == root) call.send(packing, buffer, elements);
        else call.receive(root, 0, type, buffer, elements, call.posted->plan.bytes);
        return outcome;
    };
    return execute_posted(MpiFunction::ibcast, comm, request, ours, mpi);
}

/// Whether MPI accepts the parts of a buffer in which each rank has one.
template <class P>
bool accepts(P const& parts, MPI_Datatype type, void const* buffer, int ranks) {
    if (type == MPI_DATATYPE_NULL || !parts.valid(ranks)) return false;
    std::size_t elements = 0;
    for (int r = 0; r < ranks; ++r) elements += parts.elements(r);
    return !refused(buffer, static_cast<MPI_Count>(elements), type);
}

template <class P, class Mpi>
int iallgather(MpiFunction function, void const* send, MPI_Count count, MPI_Datatype send_type,
               void* receive, P const& parts, MPI_Datatype type, MPI_Comm comm,
               MPI_Request* request, Mpi const& mpi) {
    auto const ours = [&](NonBlockingCall& call) {
        bool const in_place = send == MPI_IN_PLACE;
        if (!accepts(parts, type, receive, call.size()) ||
            (!in_place && refused(send, count, send_type)))
            return CallOutcome::arguments;
        TypePacking const packing(type);
        std::size_t longest = 0, all = 0;
        for (int r = 0; r < call.size(); ++r) {
            std::size_t const bytes = packing.bytes(parts.elements(r));
            longest = std::max(longest, bytes);
            all += bytes;
        }
        auto const outcome = call.plan(longest);
        if (outcome != CallOutcome::taken) return outcome;
        std::size_t const own = parts.elements(call.rank());
        if (in_place) call.send(packing, packing.at(receive, parts.offset(call.rank())), own);
        else call.send(TypePacking(send_type), send, static_cast<std::size_t>(count));
        if (call.message.size() != packing.bytes(own)) return CallOutcome::arguments;
        for (int r = 0; r < call.size(); ++r)
            if (!in_place || r != call.rank())
                call.receive(r, 0, type, packing.at(receive, parts.offset(r)), parts.elements(r),
                             all);
        return outcome;
    };
    return execute_posted(function, comm, request, ours, mpi);
}

template <class Mpi>
int igather(void const* send, MPI_Count sent, MPI_Datatype send_type, void* receive,
            MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request,
            Mpi const& mpi) {
    auto const ours = [&](NonBlockingCall& call) {
        if (root < 0 || root >= call.size()) return CallOutcome::arguments;
        bool const at_root = call.rank() == root, in_place = send == MPI_IN_PLACE;
        if ((in_place && !at_root) || (!in_place && refused(send, sent, send_type)) ||
            (at_root && refused(receive, count, type)))
            return CallOutcome::arguments;
        TypePacking const packing(at_root ? type : send_type);
        auto const elements = static_cast<std::size_t>(at_root ? count : sent);
        std::size_t const block = packing.bytes(elements);
        auto const outcome = call.plan(block, Pattern::to_root, root);
        if (outcome != CallOutcome::taken) return outcome;
        if (!in_place) call.send(TypePacking(send_type), send, static_cast<std::size_t>(sent));
        if (!in_place && call.message.size() != block) return CallOutcome::arguments;
        for (int r = 0; at_root && r < call.size(); ++r)
            if (!in_place || r != root)
                call.receive(r, 0, type, packing.at(receive, r * count), elements,
                             block * call.ranks());
        return outcome;
    };
    return execute_posted(MpiFunction::igather, comm, request, ours, mpi);
}

template <class Mpi>
int iscatter(void const* send, MPI_Count sent, MPI_Datatype send_type, void* receive,
             MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request,
             Mpi const& mpi) {
    auto const ours = [&](NonBlockingCall& call) {
        if (root < 0 || root >= call.size()) return CallOutcome::arguments;
        bool const at_root = call.rank() == root, in_place = receive == MPI_IN_PLACE;
        if ((in_place && !at_root) || (!in_place && refused(receive, count, type)) ||
            (at_root && refused(send, sent, send_type)))
            return CallOutcome::arguments;
        std::size_t const block = at_root
                                      ? TypePacking(send_type).bytes(static_cast<std::size_t>(sent))
                                      : TypePacking(type).bytes(static_cast<std::size_t>(count));
        auto const outcome = call.plan(block * call.ranks(), Pattern::from_root, root);
        if (outcome != CallOutcome::taken) return outcome;
        if (at_root)
            call.send(TypePacking(send_type), send, static_cast<std::size_t>(sent) * call.ranks());
        if (in_place) return outcome;
        auto const elements = static_cast<std::size_t>(count);
        if (TypePacking(type).bytes(elements) != block) return CallOutcome::arguments;
        call.receive(root, block * static_cast<std::size_t>(call.rank()), type, receive, elements,
                     block);
        return outcome;
    };
    return execute_posted(MpiFunction::iscatter, comm, request, ours, mpi);
}

template <class Mpi>
int ialltoall(void const* send, MPI_Count sent, MPI_Datatype send_type, void* receive,
              MPI_Count count, MPI_Datatype type, MPI_Comm comm, MPI_Request* request,
              Mpi const& mpi) {
    auto const ours = [&](NonBlockingCall& call) {
        bool const in_place = send == MPI_IN_PLACE;
        if (refused(receive, count, type) || (!in_place && refused(send, sent, send_type)))
            return CallOutcome::arguments;
        TypePacking const packing(type);
        auto const elements = static_cast<std::size_t>(count);
        std::size_t const block = packing.bytes(elements), all = block * call.ranks();
        auto const outcome = call.plan(all);
        if (outcome != CallOutcome::taken) return outcome;
        if (in_place) call.send(packing, receive, elements * call.ranks());
        else call.send(TypePacking(send_type), send, static_cast<std::size_t>(sent) * call.ranks());
        if (call.message.size() != all) return CallOutcome::arguments;
        for (int r = 0; r < call.size(); ++r)
            call.receive(r, block * static_cast<std::size_t>(call.rank()), type,
                         packing.at(receive, r * count), elements, all);
        return outcome;
    };
    return execute_posted(MpiFunction::ialltoall, comm, request, ours, mpi);
}

/// A call whose longest message is not known to all ranks.
template <class Mpi>
int by_mpi(MpiFunction function, MPI_Comm comm, MPI_Request* request, Mpi const& mpi) {
    return execute_posted(
        function, comm, request, [](NonBlockingCall&) { return CallOutcome::too_long; }, mpi);
}

}  // namespace

}  // namespace sinew::pmpi

using namespace sinew::pmpi;

extern "C" int MPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
    return execute_posted(
        MpiFunction::ibarrier, comm, request, [](NonBlockingCall& call) { return call.plan(0); },
        [&] { return real().Ibarrier(comm, request); });
}
SINEW_ALSO_AS_PMPI(Ibarrier)

// The functions of MPI; with SUFFIX _c those with large counts.
#define SINEW_NONBLOCKING_MOVEMENTS(SUFFIX, COUNT, OFFSET)                                         \
    extern "C" int MPI_Ibcast##SUFFIX(void* buffer, COUNT count, MPI_Datatype type, int root,      \
                                      MPI_Comm comm, MPI_Request* request) {                       \
        return ibcast(buffer, count, type, root, comm, request, [&] {                              \
            return real().Ibcast##SUFFIX(buffer, count, type, root, comm, request);                \
        });                                                                                        \
    }                                                                                              \
    extern "C" int MPI_Iallgather##SUFFIX(void const* send, COUNT sent, MPI_Datatype send_type,    \
                                          void* receive, COUNT count, MPI_Datatype type,           \
                                          MPI_Comm comm, MPI_Request* request) {                   \
        return iallgather(MpiFunction::iallgather, send, sent, send_type, receive,                 \
                          RankParts<COUNT, OFFSET>{nullptr, nullptr, count}, type, comm, request,  \
                          [&] {                                                                    \
                              return real().Iallgather##SUFFIX(send, sent, send_type, receive,     \
                                                               count, type, comm, request);        \
                          });                                                                      \
    }                                                                                              \
    extern "C" int MPI_Iallgatherv##SUFFIX(                                                        \
        void const* send, COUNT sent, MPI_Datatype send_type, void* receive, COUNT const* counts,  \
        OFFSET const* offsets, MPI_Datatype type, MPI_Comm comm, MPI_Request* request) {           \
        auto const mpi = [&] {                                                                     \
            return real().Iallgatherv##SUFFIX(send, sent, send_type, receive, counts, offsets,     \
                                              type, comm, request);                                \
        };                                                                                         \
        if (counts == nullptr) return mpi();                                                       \
        return iallgather(MpiFunction::iallgatherv, send, sent, send_type, receive,                \
                          RankParts<COUNT, OFFSET>{counts, offsets}, type, comm, request, mpi);    \
    }                                                                                              \
    extern "C" int MPI_Igather##SUFFIX(void const* send, COUNT sent, MPI_Datatype send_type,       \
                                       void* receive, COUNT count, MPI_Datatype type, int root,    \
                                       MPI_Comm comm, MPI_Request* request) {                      \
        return igather(send, sent, send_type, receive, count, type, root, comm, request, [&] {     \
            return real().Igather##SUFFIX(send, sent, send_type, receive, count, type, root, comm, \
                                          request);                                                \
        });                                                                                        \
    }                                                                                              \
    extern "C" int MPI_Igatherv##SUFFIX(                                                           \
        void const* send, COUNT sent, MPI_Datatype send_type, void* receive, COUNT const* counts,  \
        OFFSET const* offsets, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request) { \
        return by_mpi(MpiFunction::igatherv, comm, request, [&] {                                  \
            return real().Igatherv##SUFFIX(send, sent, send_type, receive, counts, offsets, type,  \
                                           root, comm, request);                                   \
        });                                                                                        \
    }                                                                                              \
    extern "C" int MPI_Iscatter##SUFFIX(void const* send, COUNT sent, MPI_Datatype send_type,      \
                                        void* receive, COUNT count, MPI_Datatype type, int root,   \
                                        MPI_Comm comm, MPI_Request* request) {                     \
        return iscatter(send, sent, send_type, receive, count, type, root, comm, request, [&] {    \
            return real().Iscatter##SUFFIX(send, sent, send_type, receive, count, type, root,      \
                                           comm, request);                                         \
        });                                                                                        \
    }                                                                                              \
    extern "C" int MPI_Iscatterv##SUFFIX(void const* send, COUNT const* sent,                      \
                                         OFFSET const* offsets, MPI_Datatype send_type,            \
                                         void* receive, COUNT count, MPI_Datatype type, int root,  \
                                         MPI_Comm comm, MPI_Request* request) {                    \
        return by_mpi(MpiFunction::iscatterv, comm, request, [&] {                                 \
            return real().Iscatterv##SUFFIX(send, sent, offsets, send_type, receive, count, type,  \
                                            root, comm, request);                                  \
        });                                                                                        \
    }                                                                                              \
    extern "C" int MPI_Ialltoall##SUFFIX(void const* send, COUNT sent, MPI_Datatype send_type,     \
                                         void* receive, COUNT count, MPI_Datatype type,            \
                                         MPI_Comm comm, MPI_Request* request) {                    \
        return ialltoall(send, sent, send_type, receive, count, type, comm, request, [&] {         \
            return real().Ialltoall##SUFFIX(send, sent, send_type, receive, count, type, comm,     \
                                            request);                                              \
        });                                                                                        \
    }                                                                                              \
    extern "C" int MPI_Ialltoallv##SUFFIX(                                                         \
        void const* send, COUNT const* sent, OFFSET const* sent_offsets, MPI_Datatype send_type,   \
        void* receive, COUNT const* counts, OFFSET const* offsets, MPI_Datatype type,              \
        MPI_Comm comm, MPI_Request* request) {                                                     \
        return by_mpi(MpiFunction::ialltoallv, comm, request, [&] {                                \
            return real().Ialltoallv##SUFFIX(send, sent, sent_offsets, send_type, receive, counts, \
                                             offsets, type, comm, request);                        \
        });                                                                                        \
    }                                                                                              \
    SINEW_ALSO_AS_PMPI(Ibcast##SUFFIX)                                                             \
    SINEW_ALSO_AS_PMPI(Iallgather##SUFFIX)                                                         \
    SINEW_ALSO_AS_PMPI(Iallgatherv##SUFFIX)                                                        \
    SINEW_ALSO_AS_PMPI(Igather##SUFFIX)                                                            \
    SINEW_ALSO_AS_PMPI(Igatherv##SUFFIX)                                                           \
    SINEW_ALSO_AS_PMPI(Iscatter##SUFFIX)                                                           \
    SINEW_ALSO_AS_PMPI(Iscatterv##SUFFIX)                                                          \
    SINEW_ALSO_AS_PMPI(Ialltoall##SUFFIX)                                                          \
    SINEW_ALSO_AS_PMPI(Ialltoallv##SUFFIX)

SINEW_NONBLOCKING_MOVEMENTS(, int, int)
#if SINEW_MPI_LARGE_COUNTS
SINEW_NONBLOCKING_MOVEMENTS(_c, MPI_Count, MPI_Aint)
#endif
