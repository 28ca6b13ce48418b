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

    void operator()() const;
};

void Call::operator()() const {
    CallOptions const options{.algorithm = algorithm};
    int const root = Problem::root;
    switch (collective) {
        case Collective::allreduce:
            return comm.allreduce(in, out, op, options);
        case Collective::reduce_scatter:
            return comm.reduce_scatter(in, out, parts, op, options);
        case Collective::reduce_scatter_block:
            return comm.reduce_scatter_block(in, out, op, options);
        case Collective::allgather:
            return comm.allgather(in, out, options);
        case Collective::allgatherv:
            return comm.allgatherv(in, out, parts, options);
        case Collective::broadcast:
            return comm.broadcast(out, root, options);
        case Collective::reduce:
            return comm.reduce(in, out, op, root, options);
        case Collective::gather:
            return comm.gather(in, out, root, options);
        case Collective::gatherv:
            return comm.gatherv(in, out, parts, root, options);
        case Collective::scatter:
            return comm.scatter(in, out, root, options);
        case Collective::scatterv:
            return comm.scatterv(in, out, parts, root, options);
        case Collective::alltoall:
            return comm.alltoall(in, out, options);
        case Collective::alltoallv:
            return comm.alltoallv(in, parts, out, received, options);
        case Collective::scan:
            return comm.scan(in, out, op, options);
        case Collective::exscan:
            return comm.exscan(in, out, op, options);
        case Collective::barrier:
            return comm.barrier(options);
    }
}

}  // namespace

std::function<void()> bind_ours(Communicator& comm, Workload const& load,
                                std::string const& algorithm) {
    Problem const& problem = load.problem();
    std::vector<std::size_t> const received(problem.parts.size(), problem.part());
    return Call{
        comm,       problem.collective, load.in(), load.out(),
        problem.op, problem.parts,      received,  algorithm == "auto" ? std::string() : algorithm};
}

}  // namespace sinew::bench
