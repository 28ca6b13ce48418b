// SPDX-License-Identifier: Apache-2.0
// Ranks with different environments: the settings of rank 0 apply to all.
#include "src/comm/agreed_settings.hpp"

#include <filesystem>

#include "src/base/text.hpp"
#include "src/transport/thread_transport.hpp"
#include "tests/comm/ranks.hpp"
#include "tests/support/socket_ranks.hpp"

namespace sinew::tests {
namespace {

using detail::CommonSettings;
using detail::SettingsDigest;
using testing::AllOf;
using testing::HasSubstr;

CommonSettings plain_settings() {
    return {.deadlines = {long_time, long_time}, .check = false, .forced_algorithms = ""};
}

/// Waits for at most the duration of a test.
class PatientSupervisor final : public collectives::WaitPolicy {
public:
    int spins() const override { return 1; }
    void idle(int, collectives::Channel const&) override {
        if (std::chrono::steady_clock::now() > end_) throw Timeout("the ranks did not agree");
        std::this_thread::yield();
    }

private:
    std::chrono::steady_clock::time_point end_ = std::chrono::steady_clock::now() + long_time;
};

/// The settings of each rank after the agreement.
std::vector<CommonSettings> agree_on(std::vector<CommonSettings> own) {
    std::vector<SettingsDigest> digests;
    for (auto const& settings : own) digests.push_back(SettingsDigest::of(settings));
    ThreadHub hub(static_cast<int>(own.size()));
    {
        std::vector<std::jthread> ranks;
        for (std::size_t r = 0; r < own.size(); ++r)
            ranks.emplace_back([&, r] {
                ThreadTransport transport(hub, static_cast<int>(r));
                PatientSupervisor supervisor;
                collectives::Channel channel(transport, supervisor, 0);
                adopt_settings(channel, digests, own[r], text("rank ", r));
            });
    }
    return own;
}

// Must be the first test of this file, since the warning is printed once per process.
TEST(AgreedSettings, AreWarnedOfOnceWithBothValues) {
    std::vector<CommonSettings> own(2, plain_settings());
    own[1].check = true;
    own[1].deadlines.silent = 1500ms;
    own[0].forced_algorithms = "allreduce:ring";
    own[0].tune = detail::TuneMode::cache;
    testing::internal::CaptureStderr();
    agree_on(own);
    agree_on(own);
    std::string const said = testing::internal::GetCapturedStderr();
    EXPECT_THAT(said,
                AllOf(HasSubstr("rank 1: SINEW_CHECK is 1 here and 0 on rank 0"),
                      HasSubstr("SINEW_ALGORITHM is \"\" here and \"allreduce:ring\" on rank 0"),
                      HasSubstr("SINEW_TUNE is off here and cache on rank 0"),
                      HasSubstr("SINEW_TIMEOUT is 1.5s here and 20s on rank 0"),
                      testing::Not(HasSubstr("SINEW_CALIBRATE"))));
    EXPECT_EQ(said.find("The values of rank 0"), said.rfind("The values of rank 0"));
}

TEST(AgreedSettings, AreRank0s) {
    std::vector<CommonSettings> own(5, plain_settings());
    own[0] = {.deadlines = {3s, 4s},
              .check = true,
              .calibrate = false,
              .forced_algorithms = "allreduce:ring,broadcast:chain",
              .tune = detail::TuneMode::online};
    own[2].forced_algorithms = "allreduce:there is no such";
    own[3] = own[0];
    for (auto const& agreed : agree_on(own)) {
        EXPECT_EQ(agreed.deadlines.silent, 3s);
        EXPECT_EQ(agreed.deadlines.late, 4s);
        EXPECT_TRUE(agreed.check);
        EXPECT_FALSE(agreed.calibrate);
        EXPECT_EQ(agreed.tune, detail::TuneMode::online);
        EXPECT_EQ(agreed.forced_algorithms, own[0].forced_algorithms);
    }
    own[0].forced_algorithms.clear();
    for (auto const& agreed : agree_on(own)) EXPECT_EQ(agreed.forced_algorithms, "");
}

/// Runs three ranks over sockets, where rank `odd` has other settings. All collectives must give
/// right results.
void expect_right_where_one_has(int odd, std::function<void(CommonSettings&)> const& change,
                                std::function<void(Communicator&)> const& body = {}) {
    testing_support::run_socket_ranks(
        {0, 0, 1},
        [&](Communicator& comm) {
            for (std::size_t const count : {1, 12, 20000}) {
                std::vector<std::int64_t> data(count, comm.rank() + 1), all(3 * count);
                comm.allreduce(data, sum);
                EXPECT_THAT(data, testing::Each(6));
                comm.allgather(data, all);
                EXPECT_THAT(all, testing::Each(6));
            }
            if (body) body(comm);
        },
        [&](int rank) {
            CommonSettings settings = plain_settings();
            if (rank == odd) change(settings);
            return settings;
        });
}

TEST(AgreedSettings, AreMadeWhereSomeRanksCompareCalls) {
    for (int const odd : {0, 1, 2})
        expect_right_where_one_has(odd, [](CommonSettings& settings) { settings.check = true; });
}

TEST(AgreedSettings, AreMadeWhereSomeRanksForceAnAlgorithm) {
    for (int const odd : {0, 1, 2})
        expect_right_where_one_has(
            odd,
            [](CommonSettings& settings) {
                settings.forced_algorithms = "allreduce:ring,allgather:linear";
            },
            [&](Communicator& comm) {
                EXPECT_EQ(comm.algorithm_for(Collective::allreduce, 8) == "ring", odd == 0);
            });
}

TEST(AgreedSettings, AreMadeWhereSomeRanksMeasureTheMachine) {
    std::string folder = std::filesystem::temp_directory_path() / "sinew-agreed-XXXXXX";
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    Variable const cache("XDG_CACHE_HOME", folder.c_str());
    for (int const odd : {0, 2})
        expect_right_where_one_has(odd,
                                   [](CommonSettings& settings) { settings.calibrate = false; });
    std::filesystem::remove_all(folder);
}

TEST(AgreedSettings, ThatAreWrongOnRank0AreRefusedEverywhere) {
    std::atomic<int> refused{0};
    EXPECT_THROW(testing_support::run_socket_ranks(
                     {0, 0}, [](Communicator&) { ADD_FAILURE() << "joined"; },
                     [&](int rank) {
                         CommonSettings settings = plain_settings();
                         settings.calibrate = false;
                         if (rank == 0) settings.forced_algorithms = "allreduce:rong";
                         ++refused;
                         return settings;
                     }),
                 UsageError);
    EXPECT_EQ(refused, 2);
}

}  // namespace
}  // namespace sinew::tests
