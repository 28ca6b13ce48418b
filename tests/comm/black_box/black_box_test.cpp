// SPDX-License-Identifier: Apache-2.0
#include <sinew/comm/black_box.hpp>

#include <csignal>
#include <filesystem>
#include <system_error>

#include "src/base/text.hpp"
#include "src/comm/black_box/black_box.hpp"
#include "tests/comm/ranks.hpp"
#include "tests/support/process_ranks.hpp"
#include "tests/support/temp_folder.hpp"

namespace sinew::tests {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing_support::ProcessRanks;
using testing_support::read_whole;
using testing_support::TempFolder;

TEST(BlackBox, IsWrittenByEveryRankWhenOneIsMissing) {
    TempFolder folder;
    std::string const boxes = folder.path() / "boxes";
    Variable const where("SINEW_BLACKBOX", boxes.c_str());
    Variable const unchecked("SINEW_CHECK", "0");
    ProcessRanks ranks({.ranks = 3, .timeout = 500ms}, [&](Communicator& comm) {
        comm.barrier();
        std::vector<float> data(1000);
        if (comm.rank() != 2) comm.allreduce(data, sum);
        else wait_until([&] { return std::filesystem::exists(boxes + "/rank-0.json"); });
        return std::string();
    });
    ASSERT_TRUE(ranks.all_have_ended());
    for (int const rank : {0, 1}) {
        EXPECT_THAT(
            read_whole(text(boxes, "/rank-", rank, ".json")),
            AllOf(
                HasSubstr(
                    text("{\"schema\":\"sinew-black-box-1\",\"rank\":", rank, ",\"size\":3,")),
                HasSubstr("\"name\":\"world\""), HasSubstr("\"entered\":2,\"inside\":true"),
                HasSubstr("{\"sequence\":1,\"operation\":\"barrier\",\"state\":\"left\""),
                HasSubstr("{\"sequence\":2,\"operation\":\"allreduce\",\"type\":\"f32\",\"count\":"
                          "1000,\"reduce\":\"sum\",\"state\":\"running\"")));
        EXPECT_THAT(ranks.said(rank), HasSubstr(text(boxes, "/rank-", rank, ".json")));
    }
    for (auto const& entry : std::filesystem::directory_iterator(boxes))
        EXPECT_EQ(entry.path().extension(), ".json");
}

TEST(BlackBox, KnowsTheLastCollectiveOfTheCommunicatorThatWasUsedLast) {
    auto& box = detail::BlackBox::instance();
    detail::OperationLog world("world", 0, {"node-a"}), part("world/1.0", 0, {"node-a"});
    detail::OperationRecord barrier, reduction;
    reduction.collective = Collective::allreduce;
    world.enter(barrier);
    ASSERT_TRUE(box.latest());
    EXPECT_EQ(box.latest()->communicator, "world");
    EXPECT_TRUE(box.latest()->inside);
    world.leave();
    part.enter(reduction);
    part.leave();
    auto const last = box.latest();
    EXPECT_EQ(last->communicator, "world/1.0");
    EXPECT_EQ(last->record.sequence, 1U);
    EXPECT_EQ(last->record.collective, Collective::allreduce);
    EXPECT_FALSE(last->inside);
    EXPECT_EQ(box.latest()->communicator, "world/1.0") << "nothing has happened meanwhile";
    world.enter(barrier);
    EXPECT_EQ(box.latest()->communicator, "world");
    EXPECT_EQ(box.latest()->record.sequence, 2U);
    world.leave();
}

TEST(BlackBox, IsWrittenOnASignalWhileTheRankComputes) {
    TempFolder folder;
    Variable const where("SINEW_BLACKBOX", folder.path().c_str());
    std::string const ready = folder.path() / "ready", done = folder.path() / "done";
    ProcessRanks ranks({.ranks = 2}, [&](Communicator& comm) {
        comm.barrier();
        if (comm.rank() == 1) {
            std::ofstream(ready) << "1";
            while (!std::filesystem::exists(done)) {}  // computes
        }
        return std::string();
    });
    wait_until([&] { return std::filesystem::exists(ready); });
    for (int again = 0; again < 3; ++again) {
        std::string const file = folder.path() / "rank-1.json";
        std::filesystem::remove(file);
        ::kill(ranks.pid(1), SIGUSR2);
        wait_until([&] { return std::filesystem::exists(file); });
        EXPECT_THAT(read_whole(file), AllOf(HasSubstr("\"reason\":\"SIGUSR2\""),
                                            HasSubstr("\"entered\":1,\"inside\":false")));
    }
    std::ofstream(done) << "1";
    ASSERT_TRUE(ranks.all_have_ended());
    EXPECT_EQ(ranks.result(1), "");
}

TEST(BlackBox, LeavesTheProgramsOwnHandler) {
    static std::atomic<int> handled = 0;
    TempFolder folder;
    Variable const where("SINEW_BLACKBOX", folder.path().c_str());
    auto const handle = [](int) {
        std::signal(SIGUSR2, [](int) { ++handled; });
        return true;
    };
    ProcessRanks ranks({.ranks = 1, .prepare = handle}, [&](Communicator&) {
        std::raise(SIGUSR2);
        return std::to_string(handled);
    });
    ASSERT_TRUE(ranks.all_have_ended());
    EXPECT_EQ(ranks.result(0), "1");
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "rank-0.json"));
}

TEST(BlackBox, NeedsAFolderThatCanBeWritten) {
    Variable const where("SINEW_BLACKBOX", "/proc/none");
    EXPECT_THAT(thrown_by<UsageError>([] { detail::BlackBox().open_folder(4, 8, "node-b"); }),
                HasSubstr("SINEW_BLACKBOX=/proc/none (rank 4 on node-b cannot write there"));
}

TEST(BlackBox, IsWrittenWhenTheProgramAsksForIt) {
    TempFolder folder;
    std::string const file = folder.path() / "box.json";
    run_thread_ranks(3, [&](Communicator& comm) {
        auto part = comm.split(comm.rank() % 2);
        for (int i = 0; i < 300; ++i) {
            comm.allreduce_value(i, max);
            part.barrier();
            // The others make calls meanwhile.
            if (comm.rank() == 2 && i == 150) write_black_box(file);
        }
    });
    EXPECT_THAT(read_whole(file),
                AllOf(HasSubstr("\"name\":\"world\""), HasSubstr("\"name\":\"world/1.0\""),
                      HasSubstr("\"name\":\"world/1.1\"")));
    // Communicators that are gone are not in it.
    write_black_box(file);
    EXPECT_THAT(read_whole(file), Not(HasSubstr("world/1")));
    EXPECT_THROW(write_black_box("/none/box.json"), std::system_error);
}

TEST(BlackBox, TheErrorOfATimeoutNamesOtherCalls) {
    Variable const unchecked("SINEW_CHECK", "0"), memory("SINEW_NODE_MEMORY", "0");
    Variable const timeout("SINEW_TIMEOUT", "500ms"), late("SINEW_LATE_TIMEOUT", "500ms");
    std::vector<std::string> errors(3);
    Leaving leaving(3);
    run_thread_ranks(3, [&](Communicator& comm) {
        comm.barrier();
        std::vector<float> data(comm.rank() == 1 ? 2000 : 1000);
        try {
            comm.rank() == 1 ? comm.reduce(data, max, 2) : comm.allreduce(data, sum);
            comm.barrier();
        } catch (Error const& error) {
            errors[static_cast<std::size_t>(comm.rank())] = error.what();
        }
        leaving.one_is_through();
        leaving.wait_for_others();
    });
    EXPECT_THAT(errors[0] + errors[1] + errors[2], HasSubstr("another call: rank "));
}

}  // namespace
}  // namespace sinew::tests
