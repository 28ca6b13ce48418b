// SPDX-License-Identifier: Apache-2.0
// A program has a long MPI message under way while a collective passes through memory: the message
// needs both sides, so a rank that waits for memory must let MPI progress.
#include <mpi.h>

#include <vector>

#include <sinew/mpi.hpp>

#include "tests/comm/collective_calls.hpp"
#include "tests/comm/ranks.hpp"

namespace sinew::tests {
namespace {

constexpr int tag = 5;
constexpr int message_bytes = 1 << 20;

struct Pairing {
    char const* name;
    int early;         ///< the rank that starts its transfer before the collective, and waits after
    bool early_sends;  ///< the other rank makes the whole transfer before the collective
};
constexpr Pairing pairings[] = {
    {"irecv_and_send", 0, false},
    {"isend_and_recv", 0, true},
    {"send_and_irecv", 1, false},
    {"recv_and_isend", 1, true},
};

class PendingRendezvous : public testing::TestWithParam<std::tuple<Pairing, int>> {};
INSTANTIATE_TEST_SUITE_P(Of, PendingRendezvous,
                         testing::Combine(testing::ValuesIn(pairings),
                                          testing::Range(0, collectives_count)),
                         [](auto const& info) {
                             return std::string(std::get<0>(info.param).name) + "_in_" +
                                    std::string(
                                        name(static_cast<Collective>(std::get<1>(info.param))));
                         });

TEST_P(PendingRendezvous, EndsWithEachCollective) {
    auto const [pairing, number] = GetParam();
    auto const collective = static_cast<Collective>(number);
    Communicator comm = mpi::communicator(MPI_COMM_WORLD);
    comm.barrier();
    ASSERT_EQ(comm.algorithm_for(collective, 8), "shared");
    int const self = comm.rank();
    std::vector<unsigned char> message(message_bytes);
    int root = 0;
    for (std::size_t const bytes : {std::size_t{48}, std::size_t{200000}}) {
        MPI_Request request = MPI_REQUEST_NULL;
        bool const takes_part = self < 2, early = self == pairing.early;
        bool const sends = early == pairing.early_sends;
        unsigned char const value = static_cast<unsigned char>(bytes % 251 + root + 1);
        std::fill(message.begin(), message.end(), takes_part && sends ? value : 0);
        if (takes_part) {
            int const other = 1 - self;
            if (early && sends)
                MPI_Isend(message.data(), message_bytes, MPI_BYTE, other, tag, MPI_COMM_WORLD,
                          &request);
            else if (early)
                MPI_Irecv(message.data(), message_bytes, MPI_BYTE, other, tag, MPI_COMM_WORLD,
                          &request);
            else if (sends)
                MPI_Send(message.data(), message_bytes, MPI_BYTE, other, tag, MPI_COMM_WORLD);
            else
                MPI_Recv(message.data(), message_bytes, MPI_BYTE, other, tag, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
        }
        call(comm, collective, bytes, root);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (takes_part) {
            EXPECT_EQ(message.front(), value);
            EXPECT_EQ(message.back(), value);
        }
        comm.barrier();
        root = 1;
    }
}

}  // namespace
}  // namespace sinew::tests
