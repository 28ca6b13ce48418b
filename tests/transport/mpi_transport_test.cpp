// SPDX-License-Identifier: Apache-2.0
#include "src/transport/mpi_transport.hpp"

#include "src/transport/mpi_environment.hpp"
#include "src/transport/mpi_library.hpp"
#include "tests/transport/conformance.hpp"

namespace sinew {
namespace {

using conformance::TransportConformance;
using testing::MatchesRegex;

conformance::World processes() {
    return {"world",
            [](auto const& body) {
                try {
                    MpiTransport self(MPI_COMM_WORLD);
                    body(self);
                } catch (std::exception const& error) {
                    ADD_FAILURE() << error.what();
                }
            },
            // See MpiTransport: Open MPI 4.1 would write beyond the buffer.
            MpiLibrary::version().rfind("Open MPI", 0) != 0};
}

INSTANTIATE_TEST_SUITE_P(Mpi, TransportConformance, testing::Values(processes()),
                         conformance::world_name);

TEST(MpiTransport, CallsFromAnyThreadOnlyAtThreadMultiple) {
    int level = 0;
    PMPI_Query_thread(&level);
    MpiTransport const self(MPI_COMM_WORLD);
    EXPECT_EQ(self.threading() == Threading::any, level == MPI_THREAD_MULTIPLE);
}

TEST(MpiTransport, KeepsItsMessagesFromTheApplications) {
    MpiTransport self(MPI_COMM_WORLD);
    char theirs = 'x';
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(&theirs, 1, MPI_BYTE, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &request);
    EXPECT_EQ(conformance::pass_on(self, 1, conformance::pattern(1, 5)),
              conformance::pattern(1, 5));
    char const mine = 'y';
    MPI_Send(&mine, 1, MPI_BYTE, conformance::next(self), 1, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT_EQ(theirs, 'y');
}

TEST(MpiTransport, NumbersRanksAsItsCommunicatorDoes) {
    MPI_Comm reversed = MPI_COMM_NULL;
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
    {
        MpiTransport self(reversed);
        EXPECT_EQ(self.rank(), self.size() - 1 - rank);
        EXPECT_EQ(conformance::pass_on(self, 1, conformance::pattern(9, 1)),
                  conformance::pattern(9, 1));
    }
    MPI_Comm_free(&reversed);
}

TEST(MpiLibrary, UsesWhatTheApplicationInitialised) {
    EXPECT_TRUE(MpiLibrary::usable());
    MpiLibrary library;
    library.leave();  // initialized by another part
    EXPECT_TRUE(MpiLibrary::usable());
    EXPECT_TRUE(launched_by_mpi());
}

TEST(MpiLibrary, NamesItself) {
    EXPECT_THAT(MpiLibrary::version(), MatchesRegex("[A-Z][A-Za-z2 ]+ [0-9]+\\.[0-9.]+.*"));
    EXPECT_EQ(MpiLibrary::version_in("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4"),
              "Open MPI 4.1.4");
    EXPECT_EQ(MpiLibrary::version_in("MPICH Version:\t4.0.2\nMPICH Release date:\tThu"),
              "MPICH 4.0.2");
    EXPECT_EQ(MpiLibrary::version_in("Intel(R) MPI Library 2021.9 for Linux* OS\nx"),
              "Intel MPI 2021.9");
    EXPECT_EQ(MpiLibrary::version_in("Some MPI\nmore"), "Some MPI");
}

}  // namespace
}  // namespace sinew
