// SPDX-License-Identifier: Apache-2.0
#include "tests/comm/suite/collective_suite.hpp"

#include <sinew/error.hpp>

#include "collectives/catalogue.hpp"
#include "tests/comm/suite/suite_types.hpp"

namespace sinew::tests {

namespace {

/// Calls every applicable algorithm by name; refusals occur before anything is sent.
void all_algorithms(Communicator& comm, std::size_t count) {
    for (int c = 0; c < collectives_count; ++c) {
        auto const collective = static_cast<Collective>(c);
        for (auto const& algorithm : collectives::algorithms(collective)) {
            if (algorithm.name == "shared" && (comm.size() == 1 || comm.nodes().nodes() > 1))
                continue;
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
                        suite.scan(sum);
                        break;
                    case Collective::exscan:
                        suite.exscan(sum);
                        break;
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
    suite_of_floats(comm);
    suite_of_pairs(comm);
    suite_of_signed(comm);
    suite_of_unsigned(comm);
#if defined(SINEW_TEST_ASAN) || defined(SINEW_TEST_TSAN)
    constexpr std::size_t large = 12'000;
#else
    constexpr std::size_t large = 40'000;
#endif
    for (std::size_t const count :
         {std::size_t{0}, std::size_t{1}, std::size_t{3}, std::size_t{1031}, large})
        all_algorithms(comm, count);
}

}  // namespace sinew::tests
