// SPDX-License-Identifier: Apache-2.0
// The non-blocking reductions. Operations of the program are left to MPI, as they would be called by
// another thread of ours.
#include "src/pmpi/functions/interpose.hpp"
#include "src/pmpi/functions/posting.hpp"
#include "src/pmpi/operations.hpp"

namespace sinew::pmpi {

namespace {

/// Plans a reduction of `count` elements on each rank.
CallOutcome plan(NonBlockingCall const& call, Reduction const& reduction, MPI_Count count,
                 Pattern pattern, int root = -1) {
    if (count < 0) return CallOutcome::arguments;
    if (reduction.outcome != CallOutcome::taken) return reduction.outcome;
    if (reduction.operation->kind() == ReduceOp::Kind::user) return CallOutcome::of_program;
    return call.plan(static_cast<std::size_t>(count) * reduction.element, pattern, root);
}

/// Sets this rank's message, a vector; `receive` stands for it in place.
CallOutcome send(NonBlockingCall& call, void const* vector, void const* receive) {
    void const* const from = vector == MPI_IN_PLACE ? receive : vector;
    std::size_t const bytes = call.posted->plan.bytes;
    if (missing(from, bytes)) return CallOutcome::arguments;
    call.message = {static_cast<std::byte const*>(from), bytes};
    return CallOutcome::taken;
}

/// The part of the vectors from element `first` on, combined up to a rank, becomes the result.
CallOutcome receive(NonBlockingCall const& call, Reduction const& reduction, void* to,
                    std::size_t first, std::size_t count, int last_rank) {
    if (missing(to, count * reduction.element)) return CallOutcome::arguments;
    call.posted->combination = {.reducer = *reduction.reducer,
                                .to = static_cast<std::byte*>(to),
                                .offset = first * reduction.element,
                                .count = count,
                                .last_rank = last_rank};
    return CallOutcome::taken;
}

/// iallreduce, iscan, iexscan: a vector on each rank, and a result on each rank: of all ranks, of those
/// up to this one, or of those below it.
template <class Mpi>
int vector_to_all(MpiFunction function, void const* vector, void* result, MPI_Count count,
                  MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request* request,
                  Mpi const& mpi) {
    bool const to_all = function == MpiFunction::iallreduce;
    auto const ours = [&](NonBlockingCall& call) {
        Reduction const& reduction = reduction_of(type, op);
        auto outcome =
            plan(call, reduction, count, to_all ? Pattern::all_to_all : Pattern::to_higher);
        if (outcome == CallOutcome::taken) outcome = send(call, vector, result);
        int const last = to_all                             ? call.size() - 1
                         : function == MpiFunction::iexscan ? call.rank() - 1
                                                            : call.rank();
        if (outcome != CallOutcome::taken || last < 0) return outcome;
        return receive(call, reduction, result, 0, static_cast<std::size_t>(count), last);
    };
    return execute_posted(function, comm, request, ours, mpi);
}

template <class Mpi>
int ireduce(void const* vector, void* result, MPI_Count count, MPI_Datatype type, MPI_Op op,
            int root, MPI_Comm comm, MPI_Request* request, Mpi const& mpi) {
    auto const ours = [&](NonBlockingCall& call) {
        if (root < 0 || root >= call.size()) return CallOutcome::arguments;
        bool const at_root = call.rank() == root;
        if (!at_root && vector == MPI_IN_PLACE) return CallOutcome::arguments;
        Reduction const& reduction = reduction_of(type, op);
        auto outcome = plan(call, reduction, count, Pattern::to_root, root);
        if (outcome == CallOutcome::taken) outcome = send(call, vector, result);
        if (outcome != CallOutcome::taken || !at_root) return outcome;
        return receive(call, reduction, result, 0, static_cast<std::size_t>(count),
                       call.size() - 1);
    };
    return execute_posted(MpiFunction::ireduce, comm, request, ours, mpi);
}

/// `count_of`: the elements of a rank's block.
template <class CountOf, class Mpi>
int scatter_result(MpiFunction function, void const* vector, void* result, CountOf const& count_of,
                   MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request* request,
                   Mpi const& mpi) {
    auto const ours = [&](NonBlockingCall& call) {
        MPI_Count total = 0, first = 0;
        for (int r = 0; r < call.size(); ++r) {
            if (count_of(r) < 0) return CallOutcome::arguments;
            if (r == call.rank()) first = total;
            total += count_of(r);
        }
        Reduction const& reduction = reduction_of(type, op);
        auto outcome = plan(call, reduction, total, Pattern::all_to_all);
        if (outcome == CallOutcome::taken) outcome = send(call, vector, result);
        if (outcome != CallOutcome::taken) return outcome;
        return receive(call, reduction, result, static_cast<std::size_t>(first),
                       static_cast<std::size_t>(count_of(call.rank())), call.size() - 1);
    };
    return execute_posted(function, comm, request, ours, mpi);
}

}  // namespace

}  // namespace sinew::pmpi

using namespace sinew::pmpi;

// The functions of MPI; with SUFFIX _c those with large counts.
#define SINEW_NONBLOCKING_REDUCTIONS(SUFFIX, COUNT)                                                \
    extern "C" int MPI_Iallreduce##SUFFIX(void const* send, void* receive, COUNT count,            \
                                          MPI_Datatype type, MPI_Op op, MPI_Comm comm,             \
                                          MPI_Request* request) {                                  \
        return vector_to_all(                                                                      \
            MpiFunction::iallreduce, send, receive, count, type, op, comm, request, [&] {          \
                return real().Iallreduce##SUFFIX(send, receive, count, type, op, comm, request);   \
            });                                                                                    \
    }                                                                                              \
    extern "C" int MPI_Iscan##SUFFIX(void const* send, void* receive, COUNT count,                 \
                                     MPI_Datatype type, MPI_Op op, MPI_Comm comm,                  \
                                     MPI_Request* request) {                                       \
        return vector_to_all(                                                                      \
            MpiFunction::iscan, send, receive, count, type, op, comm, request,                     \
            [&] { return real().Iscan##SUFFIX(send, receive, count, type, op, comm, request); });  \
    }                                                                                              \
    extern "C" int MPI_Iexscan##SUFFIX(void const* send, void* receive, COUNT count,               \
                                       MPI_Datatype type, MPI_Op op, MPI_Comm comm,                \
                                       MPI_Request* request) {                                     \
        return vector_to_all(                                                                      \
            MpiFunction::iexscan, send, receive, count, type, op, comm, request, [&] {             \
                return real().Iexscan##SUFFIX(send, receive, count, type, op, comm, request);      \
            });                                                                                    \
    }                                                                                              \
    extern "C" int MPI_Ireduce##SUFFIX(void const* send, void* receive, COUNT count,               \
                                       MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm,      \
                                       MPI_Request* request) {                                     \
        return ireduce(send, receive, count, type, op, root, comm, request, [&] {                  \
            return real().Ireduce##SUFFIX(send, receive, count, type, op, root, comm, request);    \
        });                                                                                        \
    }                                                                                              \
    extern "C" int MPI_Ireduce_scatter_block##SUFFIX(void const* send, void* receive, COUNT count, \
                                                     MPI_Datatype type, MPI_Op op, MPI_Comm comm,  \
                                                     MPI_Request* request) {                       \
        return scatter_result(                                                                     \
            MpiFunction::ireduce_scatter_block, send, receive,                                     \
            [&](int) -> MPI_Count { return count; }, type, op, comm, request,                      \
            [&] {                                                                                  \
                return real().Ireduce_scatter_block##SUFFIX(send, receive, count, type, op, comm,  \
                                                            request);                              \
            });                                                                                    \
    }                                                                                              \
    extern "C" int MPI_Ireduce_scatter##SUFFIX(void const* send, void* receive,                    \
                                               COUNT const* counts, MPI_Datatype type, MPI_Op op,  \
                                               MPI_Comm comm, MPI_Request* request) {              \
        return scatter_result(                                                                     \
            MpiFunction::ireduce_scatter, send, receive,                                           \
            [&](int rank) -> MPI_Count { return counts == nullptr ? -1 : counts[rank]; }, type,    \
            op, comm, request,                                                                     \
            [&] {                                                                                  \
                return real().Ireduce_scatter##SUFFIX(send, receive, counts, type, op, comm,       \
                                                      request);                                    \
            });                                                                                    \
    }                                                                                              \
    SINEW_ALSO_AS_PMPI(Iallreduce##SUFFIX)                                                         \
    SINEW_ALSO_AS_PMPI(Iscan##SUFFIX)                                                              \
    SINEW_ALSO_AS_PMPI(Iexscan##SUFFIX)                                                            \
    SINEW_ALSO_AS_PMPI(Ireduce##SUFFIX)                                                            \
    SINEW_ALSO_AS_PMPI(Ireduce_scatter_block##SUFFIX)                                              \
    SINEW_ALSO_AS_PMPI(Ireduce_scatter##SUFFIX)

SINEW_NONBLOCKING_REDUCTIONS(, int)
#if SINEW_MPI_LARGE_COUNTS
SINEW_NONBLOCKING_REDUCTIONS(_c, MPI_Count)
#endif
