// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/collectives/bare_transfer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sinew/thread_ranks.hpp>

namespace sinew::bench {
namespace {

using enum Collective;

Problem problem_of(Collective collective, std::size_t bytes, Communicator const& comm) {
    return Problem::of(collective, DataType::Kind::f32, sum, bytes, comm);
}

void fill(Buffer const& buffer, int value) {
    std::fill_n(static_cast<std::byte*>(buffer.data), buffer.bytes(), std::byte(value));
}

bool holds(void const* memory, std::size_t bytes, int value) {
    auto const* const first = static_cast<std::byte const*>(memory);
    return std::all_of(first, first + bytes, [&](std::byte b) { return b == std::byte(value); });
}

/// Where each rank has filled its input with its number plus one, expects what must pass. Returns false if one of the two ranks did not
/// run for long, as on a loaded machine.
bool expect_passed(Communicator& comm, Collective collective, std::size_t bytes, Variant variant) {
    SCOPED_TRACE(std::string(name(collective)) + ' ' + std::to_string(bytes));
    BareTransfer bare(comm, false, [&] { comm.barrier(); });
    Workload const load(problem_of(collective, bytes, comm));
    auto const call = bare.fastest(load, variant, false);
    EXPECT_EQ(call.has_value(), bare.works());
    if (!call) return false;
    int const own = comm.rank() + 1, other = 2 - comm.rank();
    bool const rooted = collective == broadcast || collective == reduce;
    fill({load.in_bytes(), load.in().bytes(), DataType::Kind::u8}, own);
    if (collective == broadcast) fill({load.out_bytes(), bytes, DataType::Kind::u8}, own);
    comm.barrier();
    (*call)();
    comm.barrier();
    if (!bare.works()) return false;
    if (collective == broadcast) {
        EXPECT_TRUE(holds(load.out_bytes(), bytes, 1)) << "the root's";
    } else if (!rooted || load.problem().is_root()) {
        std::size_t const passed =
            collective == allreduce || collective == reduce ? bytes : bytes / 2;
        EXPECT_TRUE(holds(load.out_bytes(), passed, other));
        if (collective == allgather || collective == alltoall) {
            EXPECT_TRUE(holds(load.out_bytes() + passed, bytes - passed, own));
        }
    }
    return true;
}

TEST(BareTransfer, PassesWhatACallMust) {
    run_thread_ranks(2, [](Communicator& comm) {
        for (Variant const variant : {Variant::reused, Variant::live})
            for (std::size_t const bytes : {8u, 128u, 4096u, 1u << 18, 1u << 21})
                for (Collective const collective :
                     {allreduce, reduce_scatter, allgather, alltoall, broadcast, reduce}) {
                    int trials = 5;
                    while (trials > 0 && !expect_passed(comm, collective, bytes, variant)) --trials;
                    EXPECT_GT(trials, 0) << name(collective) << ", " << bytes << " bytes";
                }
    });
}

// The giver may be so far ahead that its places come round again; sizes with other places come in between.
TEST(BareTransfer, ManyInSequencePassInOrder) {
    run_thread_ranks(2, [](Communicator& comm) {
        BareTransfer bare(comm, false, [&] { comm.barrier(); });
        for (std::size_t const bytes : {8u, 1u << 17, 256u, 8u}) {
            Workload const load(problem_of(broadcast, bytes, comm));
            auto const call = bare.fastest(load, Variant::reused, false);
            int wrong = 0;
            for (int i = 0; call && i < 1000; ++i) {
                if (comm.rank() == 0) fill({load.out_bytes(), bytes, DataType::Kind::u8}, i % 100);
                (*call)();
                if (!holds(load.out_bytes(), bytes, i % 100)) ++wrong;
            }
            if (bare.works()) {
                EXPECT_EQ(wrong, 0) << bytes;
            }
        }
    });
}

TEST(BareTransfer, InSharedMemoryIsACopy) {
    run_thread_ranks(3, [](Communicator& comm) {
        for (bool const oversubscribed : {false, true}) {
            BareTransfer bare(comm, oversubscribed, [&] { comm.barrier(); });
            Workload const load(problem_of(alltoall, 3 << 16, comm), comm);
            auto const call = bare.fastest(load, Variant::reused, true);
            if (!call) continue;  // one of the two did not run
            fill({load.in_bytes(), 3 << 16, DataType::Kind::u8}, 7);
            (*call)();
            EXPECT_TRUE(holds(load.out_bytes(), 3 << 16, 7));
            Workload const sums(problem_of(allreduce, 1 << 16, comm), comm);
            EXPECT_FALSE(bare.fastest(sums, Variant::reused, true));
        }
    });
}

TEST(BareTransfer, IsUnknownWhereRanksShareAProcessorOrOneHasAll) {
    run_thread_ranks(3, [](Communicator& comm) {
        auto const sync = [&] { comm.barrier(); };
        BareTransfer crowded(comm, true, sync), roomy(comm, false, sync);
        Workload const sums(problem_of(allreduce, 64, comm)), parts(problem_of(gather, 48, comm));
        EXPECT_FALSE(crowded.fastest(sums, Variant::reused, false));
        EXPECT_FALSE(roomy.fastest(parts, Variant::reused, false));
        Workload const blocks(problem_of(allgather, 48, comm), comm);
        EXPECT_FALSE(roomy.fastest(blocks, Variant::reused, true));
    });
    run_thread_ranks(1, [](Communicator& comm) {
        BareTransfer alone(comm, false, [] {});
        Workload const load(problem_of(allreduce, 64, comm));
        EXPECT_FALSE(alone.fastest(load, Variant::reused, false));
    });
}

}  // namespace
}  // namespace sinew::bench
