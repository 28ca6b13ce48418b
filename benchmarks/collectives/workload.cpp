// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/collectives/workload.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <numeric>

namespace sinew::bench {

namespace {

constexpr std::size_t line = 64;

bool equal_parts(Collective collective) {
    switch (collective) {
        case Collective::reduce_scatter_block:
        case Collective::allgather:
        case Collective::gather:
        case Collective::scatter:
        case Collective::alltoall:
            return true;
        default:
            return false;
    }
}

}  // namespace

Problem Problem::of(Collective collective, DataType type, ReduceOp const& op, std::size_t bytes,
                    Communicator const& comm) {
    Problem problem{.collective = collective,
                    .type = type,
                    .op = op,
                    .ranks = comm.size(),
                    .rank = comm.rank()};
    if (collective == Collective::barrier) return problem;
    auto const ranks = static_cast<std::size_t>(comm.size());
    problem.count = std::max<std::size_t>(bytes / type.size(), bytes > 0 ? 1 : 0);
    if (equal_parts(collective)) {
        if (bytes > 0) problem.count = std::max(problem.count / ranks, std::size_t{1}) * ranks;
        problem.parts.assign(ranks, problem.count / ranks);
    } else if (has_uneven_parts(collective)) {
        problem.parts.assign(ranks, problem.count / ranks);
        for (std::size_t i = 0; i < problem.count % ranks; ++i) ++problem.parts[i];
    }
    return problem;
}

std::size_t Problem::offset(int of_rank) const {
    return std::accumulate(parts.begin(), parts.begin() + of_rank, std::size_t{0});
}

std::size_t Problem::in_count() const {
    switch (collective) {
        case Collective::broadcast:
        case Collective::barrier:
            return 0;
        case Collective::allgather:
        case Collective::allgatherv:
        case Collective::gather:
        case Collective::gatherv:
            return part();
        case Collective::scatter:
        case Collective::scatterv:
            return is_root() ? count : 0;
        default:
            return count;
    }
}

std::size_t Problem::out_count() const {
    switch (collective) {
        case Collective::barrier:
            return 0;
        case Collective::reduce:
        case Collective::gather:
        case Collective::gatherv:
            return is_root() ? count : 0;
        case Collective::reduce_scatter:
        case Collective::reduce_scatter_block:
        case Collective::scatter:
        case Collective::scatterv:
            return part();
        case Collective::alltoall:
        case Collective::alltoallv:
            return part() * static_cast<std::size_t>(ranks);
        default:
            return count;
    }
}

Workload::Workload(Problem problem)
    : problem_(std::move(problem)), in_(allocate(problem_.in_count() * problem_.type.size())),
      out_(allocate(problem_.out_count() * problem_.type.size())) {}

Workload::Workload(Problem problem, Communicator& comm)
    : problem_(std::move(problem)),
      in_(allocate_shared(comm, problem_.in_count() * problem_.type.size())),
      out_(allocate_shared(comm, problem_.out_count() * problem_.type.size())) {}

Workload::Memory Workload::allocate_shared(Communicator& comm, std::size_t bytes) {
    auto buffer = std::make_shared<NodeBuffer<std::byte>>(
        comm.allocate<std::byte>(std::max<std::size_t>(bytes, 1)));
    std::memset(buffer->data(), 0, buffer->size());  // first touched by its owner
    return {buffer, buffer->data()};
}

// The memory is page-aligned and first touched by its owner, so it is on its NUMA node.
Workload::Memory Workload::allocate(std::size_t bytes) {
    constexpr std::size_t page = 4096;
    std::size_t const rounded = (std::max<std::size_t>(bytes, 1) + page - 1) / page * page;
    auto* const memory = static_cast<std::byte*>(std::aligned_alloc(page, rounded));
    if (memory == nullptr) throw std::bad_alloc();
    std::memset(memory, 0, rounded);
    return {memory, &std::free};
}

void Workload::live() const {
    bool const sends_out = problem_.collective == Collective::broadcast && problem_.is_root();
    auto const touch = [](std::byte* memory, std::size_t bytes) {
        for (std::size_t i = 0; i < bytes; i += line) {
            auto volatile* const byte = memory + i;
            *byte = *byte;
        }
    };
    touch(in_.get(), in().bytes());
    if (sends_out) return touch(out_.get(), out().bytes());
    for (std::size_t i = 0; i < out().bytes(); i += line)
        static_cast<void>(*const_cast<std::byte const volatile*>(out_.get() + i));
}

}  // namespace sinew::bench
