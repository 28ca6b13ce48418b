// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/collectives/ours.hpp"

namespace sinew::bench {

namespace {

struct Call {
    Communicator& comm;
    Collective collective;
    ConstBuffer in;
    Buffer out;
    ReduceOp op;
    std::vector<std::size_t> parts, received;
    std::string algorithm;
    bool nonblocking;

    void operator()() const;
};

void Call::operator()() const {
    // Made in the call, as a program does it: to copy what has just been stored in parts waits for these stores.
    auto const options = [this] { return CallOptions{.algorithm = algorithm}; };
    int const root = Problem::root;
// Either form of a collective.
#define SINEW_BENCH_CALL(name, ...)                    \
    if (nonblocking) comm.i##name(__VA_ARGS__).wait(); \
    else comm.name(__VA_ARGS__);                       \
    return
    switch (collective) {
        case Collective::allreduce:
            SINEW_BENCH_CALL(allreduce, in, out, op, options());
        case Collective::reduce_scatter:
            SINEW_BENCH_CALL(reduce_scatter, in, out, parts, op, options());
        case Collective::reduce_scatter_block:
            SINEW_BENCH_CALL(reduce_scatter_block, in, out, op, options());
        case Collective::allgather:
            SINEW_BENCH_CALL(allgather, in, out, options());
        case Collective::allgatherv:
            SINEW_BENCH_CALL(allgatherv, in, out, parts, options());
        case Collective::broadcast:
            SINEW_BENCH_CALL(broadcast, out, root, options());
        case Collective::reduce:
            SINEW_BENCH_CALL(reduce, in, out, op, root, options());
        case Collective::gather:
            SINEW_BENCH_CALL(gather, in, out, root, options());
        case Collective::gatherv:
            SINEW_BENCH_CALL(gatherv, in, out, parts, root, options());
        case Collective::scatter:
            SINEW_BENCH_CALL(scatter, in, out, root, options());
        case Collective::scatterv:
            SINEW_BENCH_CALL(scatterv, in, out, parts, root, options());
        case Collective::alltoall:
            SINEW_BENCH_CALL(alltoall, in, out, options());
        case Collective::alltoallv:
            SINEW_BENCH_CALL(alltoallv, in, parts, out, received, options());
        case Collective::scan:
            SINEW_BENCH_CALL(scan, in, out, op, options());
        case Collective::exscan:
            SINEW_BENCH_CALL(exscan, in, out, op, options());
        case Collective::barrier:
            SINEW_BENCH_CALL(barrier, options());
    }
#undef SINEW_BENCH_CALL
}

}  // namespace

std::function<void()> bind_ours(Communicator& comm, Workload const& load,
                                std::string const& algorithm, bool nonblocking) {
    Problem const& problem = load.problem();
    std::vector<std::size_t> const received(problem.parts.size(), problem.part());
    return Call{
        comm,       problem.collective, load.in(), load.out(),
        problem.op, problem.parts,      received,  algorithm == "auto" ? std::string() : algorithm,
        nonblocking};
}

}  // namespace sinew::bench
