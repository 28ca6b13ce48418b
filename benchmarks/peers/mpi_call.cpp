// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/peers/mpi_call.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <sinew/error.hpp>
#include <sinew/mpi.hpp>
#include <vector>

#include "benchmarks/peers/mpi_halves.hpp"
#include "benchmarks/support/text.hpp"

namespace sinew::bench {

namespace {

/// The arguments of a problem for MPI: int counts and displacements.
struct Call {
    Call(MPI_Comm comm_, Workload const& load)
        : comm(comm_), in(load.in().data), out(load.out().data),
          count(static_cast<int>(load.problem().count)),
          in_count(static_cast<int>(load.problem().in_count())),
          part(static_cast<int>(load.problem().part())),
          type(is_half(load.problem().type) ? MPI_UINT16_T : mpi::to_mpi(load.problem().type)) {
        if (is_reduction(load.problem().collective)) {
            if (is_half(load.problem().type))
                op = of_halves.emplace(load.problem().op, load.problem().type).get();
            else op = mpi::to_mpi(load.problem().op);
        }
        int offset = 0, received = 0;
        for (std::size_t const elements : load.problem().parts) {
            counts.push_back(static_cast<int>(elements));
            offsets.push_back(offset);
            offset += counts.back();
            received_counts.push_back(part);
            received_offsets.push_back(received);
            received += part;
        }
    }

    MPI_Comm comm;
    void const* in;
    void* out;
    int count, in_count, part;
    std::vector<int> counts, offsets, received_counts, received_offsets;
    MPI_Datatype type;
    std::optional<HalvesOperation> of_halves;
    MPI_Op op = MPI_OP_NULL;
    int root = Problem::root;
};

int run(Collective collective, Call const& c) {
    int const *const counts = c.counts.data(), *const offsets = c.offsets.data();
    switch (collective) {
        case Collective::allreduce:
            return PMPI_Allreduce(c.in, c.out, c.count, c.type, c.op, c.comm);
        case Collective::reduce_scatter:
            return PMPI_Reduce_scatter(c.in, c.out, counts, c.type, c.op, c.comm);
        case Collective::reduce_scatter_block:
            return PMPI_Reduce_scatter_block(c.in, c.out, c.part, c.type, c.op, c.comm);
        case Collective::allgather:
            return PMPI_Allgather(c.in, c.part, c.type, c.out, c.part, c.type, c.comm);
        case Collective::allgatherv:
            return PMPI_Allgatherv(c.in, c.in_count, c.type, c.out, counts, offsets, c.type,
                                   c.comm);
        case Collective::broadcast:
            return PMPI_Bcast(c.out, c.count, c.type, c.root, c.comm);
        case Collective::reduce:
            return PMPI_Reduce(c.in, c.out, c.count, c.type, c.op, c.root, c.comm);
        case Collective::gather:
            return PMPI_Gather(c.in, c.part, c.type, c.out, c.part, c.type, c.root, c.comm);
        case Collective::gatherv:
            return PMPI_Gatherv(c.in, c.in_count, c.type, c.out, counts, offsets, c.type, c.root,
                                c.comm);
        case Collective::scatter:
            return PMPI_Scatter(c.in, c.part, c.type, c.out, c.part, c.type, c.root, c.comm);
        case Collective::scatterv:
            return PMPI_Scatterv(c.in, counts, offsets, c.type, c.out, c.part, c.type, c.root,
                                 c.comm);
        case Collective::alltoall:
            return PMPI_Alltoall(c.in, c.part, c.type, c.out, c.part, c.type, c.comm);
        case Collective::alltoallv:
            return PMPI_Alltoallv(c.in, counts, offsets, c.type, c.out, c.received_counts.data(),
                                  c.received_offsets.data(), c.type, c.comm);
        case Collective::scan:
            return PMPI_Scan(c.in, c.out, c.count, c.type, c.op, c.comm);
        case Collective::exscan:
            return PMPI_Exscan(c.in, c.out, c.count, c.type, c.op, c.comm);
        case Collective::barrier:
            return PMPI_Barrier(c.comm);
    }
    return MPI_ERR_OTHER;
}

/// Starts the non-blocking form, of those that we compare with.
int start(Collective collective, Call const& c, MPI_Request& request) {
    switch (collective) {
        case Collective::allreduce:
            return PMPI_Iallreduce(c.in, c.out, c.count, c.type, c.op, c.comm, &request);
        case Collective::reduce_scatter_block:
            return PMPI_Ireduce_scatter_block(c.in, c.out, c.part, c.type, c.op, c.comm, &request);
        case Collective::allgather:
            return PMPI_Iallgather(c.in, c.part, c.type, c.out, c.part, c.type, c.comm, &request);
        case Collective::broadcast:
            return PMPI_Ibcast(c.out, c.count, c.type, c.root, c.comm, &request);
        case Collective::reduce:
            return PMPI_Ireduce(c.in, c.out, c.count, c.type, c.op, c.root, c.comm, &request);
        case Collective::alltoall:
            return PMPI_Ialltoall(c.in, c.part, c.type, c.out, c.part, c.type, c.comm, &request);
        case Collective::barrier:
            return PMPI_Ibarrier(c.comm, &request);
        default:
            return MPI_ERR_OTHER;
    }
}

bool has_nonblocking(Collective collective) {
    switch (collective) {
        case Collective::allreduce:
        case Collective::reduce_scatter_block:
        case Collective::allgather:
        case Collective::broadcast:
        case Collective::reduce:
        case Collective::alltoall:
        case Collective::barrier:
            return true;
        default:
            return false;
    }
}

}  // namespace

void check_mpi(int code) {
    if (code == MPI_SUCCESS) return;
    char message[MPI_MAX_ERROR_STRING] = {};
    int length = 0;
    PMPI_Error_string(code, message, &length);
    throw BackendError(text("the MPI library as a peer failed (", message, "). Leave --peer out"),
                       code);
}

std::function<void()> bind_mpi(MPI_Comm comm, Workload const& load, bool nonblocking) {
    Problem const& problem = load.problem();
    auto const most = std::max(problem.count, problem.out_count());
    if (most > static_cast<std::size_t>(std::numeric_limits<int>::max())) return {};
    try {
        auto const call = std::make_shared<Call>(comm, load);
        if (nonblocking) {
            if (!has_nonblocking(problem.collective)) return {};
            return [call, collective = problem.collective] {
                MPI_Request request = MPI_REQUEST_NULL;
                check_mpi(start(collective, *call, request));
                check_mpi(PMPI_Wait(&request, MPI_STATUS_IGNORE));
            };
        }
        return [call, collective = problem.collective] { check_mpi(run(collective, *call)); };
    } catch (UsageError const&) {
        return {};  // a type or an operation that MPI does not have
    }
}

}  // namespace sinew::bench
