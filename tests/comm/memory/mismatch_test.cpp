// SPDX-License-Identifier: Apache-2.0
// Ranks of one node that do not make the same call. Without SINEW_CHECK nobody compares the calls,
// but none accesses what is not its own, none waits for ever, and the error says what helps.
#include "tests/comm/ranks.hpp"

namespace sinew::tests {
namespace {

using testing::HasSubstr;

using Call = std::function<void(Communicator&)>;

/// A buffer whose bytes would be wild offsets and lengths.
std::vector<std::uint64_t> wild(std::size_t bytes) {
    return std::vector<std::uint64_t>((bytes + 7) / 8, 0x7f5a5a5a5a5a5a5au);
}

/// Rank 0 makes one call, the others make another. Returns the errors of the ranks; empty: none.
std::vector<std::string> mismatched(int ranks, Call const& first, Call const& others) {
    Variable const unchecked("SINEW_CHECK", "0");
    Variable const timeout("SINEW_TIMEOUT", "1s"), late("SINEW_LATE_TIMEOUT", "1s");
    std::vector<std::string> errors(static_cast<std::size_t>(ranks));
    Leaving leaving(ranks);
    run_thread_ranks(ranks, [&](Communicator& comm) {
        try {  // a rank may see the loss in its second barrier, if it is slow to leave it
            comm.barrier();
            comm.barrier();
            (comm.rank() == 0 ? first : others)(comm);
            comm.barrier();
        } catch (Error const& error) {
            errors[static_cast<std::size_t>(comm.rank())] = error.what();
        }
        leaving.one_is_through();
        leaving.wait_for_others();
    });
    return errors;
}

Call broadcast_of(std::size_t bytes, int root = 0) {
    return [=](Communicator& comm) {
        auto data = wild(bytes);
        comm.broadcast(data, root);
    };
}
Call allreduce_of(std::size_t bytes) {
    return [=](Communicator& comm) {
        auto data = wild(bytes);
        comm.allreduce(data, sum);
    };
}
Call allgather_of(std::size_t bytes) {
    return [=](Communicator& comm) {
        auto const data = wild(bytes);
        std::vector<std::uint64_t> all(data.size() * static_cast<std::size_t>(comm.size()));
        comm.allgather(data, all);
    };
}
Call alltoall_of(std::size_t bytes) {
    return [=](Communicator& comm) {
        auto data = wild(bytes);
        data.resize(data.size() / static_cast<std::size_t>(comm.size()) *
                    static_cast<std::size_t>(comm.size()));
        comm.alltoall(data);
    };
}
Call scan_of(std::size_t bytes) {
    return [=](Communicator& comm) {
        auto data = wild(bytes);
        comm.scan(data, sum);
    };
}
Call barrier() {
    return [](Communicator& comm) { comm.barrier(); };
}

struct Mismatch {
    char const* name;
    Call first, others;
};

class MismatchedCalls : public testing::TestWithParam<Mismatch> {};

Mismatch const mismatches[] = {
    {"short_and_long_broadcast", broadcast_of(40), broadcast_of(200000)},
    {"slot_and_long_broadcast", broadcast_of(4000), broadcast_of(200000)},
    {"long_and_short_broadcast", broadcast_of(200000), broadcast_of(40)},
    {"longer_broadcast", broadcast_of(100000), broadcast_of(3000000)},
    {"allreduce_and_broadcast", allreduce_of(40), broadcast_of(200000, 0)},
    {"long_allreduce_and_broadcast", allreduce_of(200000), broadcast_of(300000, 0)},
    {"short_and_long_allreduce", allreduce_of(40), allreduce_of(100000)},
    {"long_and_longer_allreduce", allreduce_of(100000), allreduce_of(3000000)},
    {"barrier_and_allreduce", barrier(), allreduce_of(100000)},
    {"allgather_and_allreduce", allgather_of(48), allreduce_of(100000)},
    {"short_and_long_allgather", allgather_of(48), allgather_of(100000)},
    {"alltoall_and_scan", alltoall_of(200000), scan_of(200000)},
    {"alltoall_and_allgather", alltoall_of(96), allgather_of(200000)},
    {"scan_and_broadcast", scan_of(5000), broadcast_of(500000)},
};
INSTANTIATE_TEST_SUITE_P(Calls, MismatchedCalls, testing::ValuesIn(mismatches),
                         [](auto const& info) { return std::string(info.param.name); });

TEST_P(MismatchedCalls, EndInTimeAndTellOfTheCheck) {
    for (int const ranks : {2, 3}) {
        auto const errors = mismatched(ranks, GetParam().first, GetParam().others);
        std::string all;
        for (std::string const& error : errors) all += error + '\n';
        EXPECT_THAT(all, HasSubstr("SINEW_CHECK")) << ranks << " ranks";
    }
}

TEST(MismatchedCalls, ThatNobodyCanNoticeLeaveTheRoomUsable) {
    Variable const unchecked("SINEW_CHECK", "0");
    run_thread_ranks(2, [](Communicator& comm) {
        std::vector<int> data(4, 1);
        if (comm.rank() == 0) comm.allreduce(data, sum);
        else comm.allreduce(data, max);
        std::vector<int> long_data(50000, 1);
        comm.broadcast(long_data, comm.rank());  // both only send
        comm.barrier();
        EXPECT_EQ(comm.allreduce_value(1, sum), 2);
    });
}

}  // namespace
}  // namespace sinew::tests
