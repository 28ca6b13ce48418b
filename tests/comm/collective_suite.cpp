// SPDX-License-Identifier: Apache-2.0
#include "tests/comm/collective_suite.hpp"

#include <sinew/error.hpp>

#include "collectives/catalogue.hpp"
#include "tests/comm/suite_calls.hpp"

namespace sinew::tests {

namespace {

using Kind = ReduceOp::Kind;

constexpr Kind predefined[] = {
    Kind::sum,        Kind::prod,        Kind::min,     Kind::max,    Kind::logical_and,
    Kind::logical_or, Kind::logical_xor, Kind::bit_and, Kind::bit_or, Kind::bit_xor,
    Kind::minloc,     Kind::maxloc,      Kind::average};

void all_types_and_operations(Communicator& comm, std::size_t count) {
    for_each_type([&](auto tag) {
        using T = typename decltype(tag)::type;
        Suite<T> suite(comm, count, {});
        suite.movements();
        for (Kind kind : predefined)
            if (ReduceOp const op(kind); op.accepts(data_type_of<T>())) suite.reductions(op);
    });
}

/// Every algorithm by name, where it applies; refusals come before anything is sent.
void all_algorithms(Communicator& comm, std::size_t count) {
    for (int c = 0; c < collectives_count; ++c) {
        auto const collective = static_cast<Collective>(c);
        for (auto const& algorithm : collectives::algorithms(collective)) {
            Suite<float> suite(comm, count, {.algorithm = algorithm.name});
            bool const root_matters =
                collective == Collective::gatherv || collective == Collective::scatterv;
            try {
                switch (collective) {
                    case Collective::allreduce:
                        suite.allreduce(sum);
                        break;
                    case Collective::reduce:
                        suite.reduce(sum, comm.size() - 1);
                        break;
                    case Collective::reduce_scatter:
                        suite.reduce_scatter(sum);
                        break;
                    case Collective::reduce_scatter_block:
                        suite.reduce_scatter_block(sum);
                        break;
                    case Collective::broadcast:
                        suite.broadcast(comm.size() - 1);
                        break;
                    case Collective::allgather:
                        suite.allgather();
                        break;
                    case Collective::allgatherv:
                        suite.allgatherv();
                        break;
                    case Collective::gather:
                        suite.gather(comm.size() - 1);
                        break;
                    case Collective::scatter:
                        suite.scatter(comm.size() - 1);
                        break;
                    case Collective::gatherv:
                        suite.gatherv(0);
                        break;
                    case Collective::scatterv:
                        suite.scatterv(0);
                        break;
                    case Collective::alltoall:
                        suite.alltoall();
                        break;
                    case Collective::alltoallv:
                        suite.alltoallv();
                        break;
                    case Collective::scan:
                    case Collective::exscan:
                        break;  // two collectives in one: below
                    case Collective::barrier:
                        comm.barrier({.algorithm = algorithm.name});
                        break;
                }
            } catch (UsageError const& refusal) {
                EXPECT_FALSE(root_matters) << refusal.what();
                EXPECT_NE(std::string(refusal.what()).find("cannot do"), std::string::npos)
                    << refusal.what();
            }
        }
    }
}

}  // namespace

void run_collective_suite(Communicator& comm) {
    for (std::size_t count : {0, 1, 17}) all_types_and_operations(comm, count);
    for (std::size_t count : {0, 1, 3, 1031, 40000}) all_algorithms(comm, count);
    // Long enough for every large-message algorithm, short enough for all types.
    for_each_type([&](auto tag) {
        using T = typename decltype(tag)::type;
        Suite<T> suite(comm, 100'003, {});
        suite.allreduce(is_indexed<T> ? minloc : sum);
        suite.reduce_scatter_block(is_indexed<T> ? maxloc : prod);
        suite.broadcast(0);
        suite.allgather();
    });
}

}  // namespace sinew::tests
