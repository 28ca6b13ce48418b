// SPDX-License-Identifier: Apache-2.0
// The reductions. Whether one is taken depends on the operation, the type and the count, which MPI
// requires to be equal on all ranks.
#include <cstring>
#include <numeric>

#include "src/pmpi/collective_call.hpp"
#include "src/pmpi/functions/interpose.hpp"
#include "src/pmpi/operations.hpp"

namespace sinew::pmpi {

namespace {

namespace node = collectives::node;

#ifdef OPEN_MPI
constexpr bool refuses_aliases = false;
#else
constexpr bool refuses_aliases = true;
#endif

/// Prepares a reduction of `count` elements.
CallOutcome prepare(CollectiveCall& call, MPI_Count count, MPI_Datatype type, MPI_Op op) {
    if (count < 0) return CallOutcome::arguments;
    Reduction const& reduction = reduction_of(type, op);
    if (reduction.outcome != CallOutcome::taken) return reduction.outcome;
    if (reduction.element > call.route.room->block()) return CallOutcome::operation;
    call.args.count = static_cast<std::size_t>(count);
    call.args.element = reduction.element;
    call.args.reduce = &*reduction.reducer;
    return CallOutcome::taken;
}

/// Sets the vectors of a rank that has a result. MPICH refuses a `send` that is `receive`; programs
/// for Open MPI mean MPI_IN_PLACE by it.
CallOutcome set_vectors(CollectiveCall& call, void const* send, void* receive) {
    std::size_t const bytes = call.args.bytes();
    if (refuses_aliases && send == receive && bytes > 0) return CallOutcome::arguments;
    bool const in_place = send == MPI_IN_PLACE;
    if (missing(receive, bytes) || (!in_place && missing(send, bytes)))
        return CallOutcome::arguments;
    call.args.in = static_cast<std::byte const*>(in_place ? receive : send);
    call.args.out = static_cast<std::byte*>(receive);
    return CallOutcome::taken;
}

/// allreduce, scan, exscan: a vector on each rank, a result on each rank.
template <class Mpi>
int vector_to_all(MpiFunction function, void (*algorithm)(node::NodeCall const&), void const* send,
                  void* receive, MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                  Mpi const& mpi) {
    auto const ours = [&](CollectiveCall& call) {
        if (auto const outcome = prepare(call, count, type, op); outcome != CallOutcome::taken)
            return outcome;
        if (auto const outcome = set_vectors(call, send, receive); outcome != CallOutcome::taken)
            return outcome;
        if (count > 0) call.run(algorithm);
        return CallOutcome::taken;
    };
    return execute(function, comm, ours, mpi);
}

template <class Mpi>
int reduce(void const* send, void* receive, MPI_Count count, MPI_Datatype type, MPI_Op op, int root,
           MPI_Comm comm, Mpi const& mpi) {
    auto const ours = [&](CollectiveCall& call) {
        if (root < 0 || root >= call.size()) return CallOutcome::arguments;
        if (auto const outcome = prepare(call, count, type, op); outcome != CallOutcome::taken)
            return outcome;
        call.args.root = root;
        if (call.at_root()) {
            if (auto const outcome = set_vectors(call, send, receive);
                outcome != CallOutcome::taken)
                return outcome;
        } else {
            if (send == MPI_IN_PLACE || missing(send, call.args.bytes()))
                return CallOutcome::arguments;
            call.args.in = static_cast<std::byte const*>(send);
        }
        if (count > 0) call.run(node::reduce);
        return CallOutcome::taken;
    };
    return execute(MpiFunction::reduce, comm, ours, mpi);
}

/// Reduces the vectors and leaves to each rank its block. The algorithm needs a result that does not
/// overlap the input.
void scatter_result(CollectiveCall& call, CallScratch& scratch, bool in_place, void* receive) {
    if (in_place) call.args.out = scratch.take(call.args.bytes());
    call.run(node::reduce_scatter);
    if (in_place && call.args.bytes() > 0) std::memcpy(receive, call.args.out, call.args.bytes());
}

template <class Mpi>
int reduce_scatter_block(void const* send, void* receive, MPI_Count count, MPI_Datatype type,
                         MPI_Op op, MPI_Comm comm, Mpi const& mpi) {
    auto const ours = [&](CollectiveCall& call) {
        if (auto const outcome = prepare(call, count, type, op); outcome != CallOutcome::taken)
            return outcome;
        if (auto const outcome = set_vectors(call, send, receive); outcome != CallOutcome::taken)
            return outcome;
        if (count == 0) return CallOutcome::taken;
        call.args.blocks = collectives::Blocks::equal(call.args.count, call.args.element);
        CallScratch scratch;
        scatter_result(call, scratch, call.args.in == call.args.out, receive);
        return CallOutcome::taken;
    };
    return execute(MpiFunction::reduce_scatter_block, comm, ours, mpi);
}

template <class Count, class Mpi>
int reduce_scatter(void const* send, void* receive, Count const* counts, MPI_Datatype type,
                   MPI_Op op, MPI_Comm comm, Mpi const& mpi) {
    auto const ours = [&](CollectiveCall& call) {
        if (counts == nullptr) return CallOutcome::arguments;
        auto const ranks = static_cast<std::size_t>(call.size());
        CallScratch scratch;
        auto const blocks = scratch.take_array<std::size_t>(ranks);
        auto const offsets = scratch.take_array<std::size_t>(ranks);
        MPI_Count total = 0;
        for (std::size_t r = 0; r < ranks; ++r) {
            if (counts[r] < 0) return CallOutcome::arguments;
            blocks[r] = static_cast<std::size_t>(counts[r]);
            offsets[r] = static_cast<std::size_t>(total);
            total += counts[r];
        }
        if (auto const outcome = prepare(call, total, type, op); outcome != CallOutcome::taken)
            return outcome;
        bool const in_place = send == MPI_IN_PLACE || (!refuses_aliases && send == receive);
        if (total == 0) return CallOutcome::taken;
        if (!in_place && send == nullptr) return CallOutcome::arguments;
        call.args.in = static_cast<std::byte const*>(in_place ? receive : send);
        call.args.out = static_cast<std::byte*>(receive);
        call.args.count = blocks[static_cast<std::size_t>(call.rank())];
        call.args.blocks = collectives::Blocks::listed(blocks, offsets, call.args.element);
        scatter_result(call, scratch, in_place, receive);
        return CallOutcome::taken;
    };
    return execute(MpiFunction::reduce_scatter, comm, ours, mpi);
}

}  // namespace

}  // namespace sinew::pmpi

using namespace sinew::pmpi;
namespace node = sinew::collectives::node;

// The functions of MPI; with SUFFIX _c those with large counts.
#define SINEW_REDUCTIONS(SUFFIX, COUNT)                                                            \
    extern "C" int MPI_Allreduce##SUFFIX(void const* send, void* receive, COUNT count,             \
                                         MPI_Datatype type, MPI_Op op, MPI_Comm comm) {            \
        return vector_to_all(                                                                      \
            MpiFunction::allreduce, node::allreduce, send, receive, count, type, op, comm,         \
            [&] { return real().Allreduce##SUFFIX(send, receive, count, type, op, comm); });       \
    }                                                                                              \
    extern "C" int MPI_Scan##SUFFIX(void const* send, void* receive, COUNT count,                  \
                                    MPI_Datatype type, MPI_Op op, MPI_Comm comm) {                 \
        return vector_to_all(                                                                      \
            MpiFunction::scan, node::scan, send, receive, count, type, op, comm,                   \
            [&] { return real().Scan##SUFFIX(send, receive, count, type, op, comm); });            \
    }                                                                                              \
    extern "C" int MPI_Exscan##SUFFIX(void const* send, void* receive, COUNT count,                \
                                      MPI_Datatype type, MPI_Op op, MPI_Comm comm) {               \
        return vector_to_all(                                                                      \
            MpiFunction::exscan, node::exscan, send, receive, count, type, op, comm,               \
            [&] { return real().Exscan##SUFFIX(send, receive, count, type, op, comm); });          \
    }                                                                                              \
    extern "C" int MPI_Reduce##SUFFIX(void const* send, void* receive, COUNT count,                \
                                      MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm) {     \
        return reduce(send, receive, count, type, op, root, comm, [&] {                            \
            return real().Reduce##SUFFIX(send, receive, count, type, op, root, comm);              \
        });                                                                                        \
    }                                                                                              \
    extern "C" int MPI_Reduce_scatter_block##SUFFIX(void const* send, void* receive, COUNT count,  \
                                                    MPI_Datatype type, MPI_Op op, MPI_Comm comm) { \
        return reduce_scatter_block(send, receive, count, type, op, comm, [&] {                    \
            return real().Reduce_scatter_block##SUFFIX(send, receive, count, type, op, comm);      \
        });                                                                                        \
    }                                                                                              \
    extern "C" int MPI_Reduce_scatter##SUFFIX(void const* send, void* receive,                     \
                                              COUNT const* counts, MPI_Datatype type, MPI_Op op,   \
                                              MPI_Comm comm) {                                     \
        return reduce_scatter(send, receive, counts, type, op, comm, [&] {                         \
            return real().Reduce_scatter##SUFFIX(send, receive, counts, type, op, comm);           \
        });                                                                                        \
    }                                                                                              \
    SINEW_ALSO_AS_PMPI(Allreduce##SUFFIX)                                                          \
    SINEW_ALSO_AS_PMPI(Scan##SUFFIX)                                                               \
    SINEW_ALSO_AS_PMPI(Exscan##SUFFIX)                                                             \
    SINEW_ALSO_AS_PMPI(Reduce##SUFFIX)                                                             \
    SINEW_ALSO_AS_PMPI(Reduce_scatter_block##SUFFIX)                                               \
    SINEW_ALSO_AS_PMPI(Reduce_scatter##SUFFIX)

SINEW_REDUCTIONS(, int)
#if SINEW_MPI_LARGE_COUNTS
SINEW_REDUCTIONS(_c, MPI_Count)
#endif
