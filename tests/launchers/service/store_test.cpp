// SPDX-License-Identifier: Apache-2.0
// What a server stores of its jobs.
#include "launchers/service/server/store.hpp"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <csignal>
#include <fstream>
#include <sinew/error.hpp>

#include "src/base/scope_exit.hpp"
#include "tests/support/temp_folder.hpp"

namespace sinew::launch::service {
namespace {

using namespace std::chrono_literals;
using testing::IsEmpty;
using testing::SizeIs;

Actor const anna{.name = "anna@laptop", .address = "10.0.0.3"};
StoredJob::Time const start_of_job{std::chrono::hours(480'000)};

JobRequest job_named(std::string const& name, char token) {
    return {.token = std::string(32, token),
            .name = name,
            .words = {"true"},
            .command = "true",
            .folder = "/"};
}

class ServiceStore : public testing::Test {
protected:
    std::string path() const { return (folder_.path() / "jobs.sqlite").string(); }
    testing_support::TempFolder folder_;
};

TEST_F(ServiceStore, HasItsJobsWhenItIsOpenedAgain) {
    {
        Store store(path());
        EXPECT_EQ(store.add(job_named("a", 'a'), anna, start_of_job), 1);
        EXPECT_EQ(store.add(job_named("b", 'b'), anna, start_of_job + 1s), 2);
        store.set_starting(1);
        store.set_running(1, start_of_job + 2s, "0,1");
    }
    Store store(path());
    auto const jobs = store.unfinished();
    ASSERT_THAT(jobs, SizeIs(2));
    EXPECT_EQ(jobs[0].state, JobState::running);
    EXPECT_EQ(jobs[0].gpus, "0,1");
    EXPECT_EQ(jobs[0].started, start_of_job + 2s);
    EXPECT_EQ(jobs[0].owner, "anna@laptop (10.0.0.3)");
    EXPECT_EQ(jobs[1].state, JobState::waiting);
    EXPECT_EQ(jobs[1].request.name, "b");
    EXPECT_EQ(store.find_token(std::string(32, 'b')), 2);
    EXPECT_EQ(store.find_token(std::string(32, 'c')), std::nullopt);
}

TEST_F(ServiceStore, AJobEndsOnce) {
    Store store(path());
    auto const id = store.add(job_named("a", 'a'), anna, start_of_job);
    EXPECT_TRUE(store.finish(id, JobState::cancelled, std::nullopt, "", start_of_job));
    EXPECT_FALSE(store.finish(id, JobState::completed, 0, "", start_of_job));
    store.set_running(id, start_of_job, "");
    store.set_waiting(id);
    EXPECT_EQ(store.find(id)->state, JobState::cancelled);
    EXPECT_THAT(store.unfinished(), IsEmpty());
    EXPECT_THAT(store.finished(10), SizeIs(1));
}

TEST_F(ServiceStore, ATokenIsTakenOnce) {
    Store store(path());
    store.add(job_named("a", 'a'), anna, start_of_job);
    EXPECT_THROW(store.add(job_named("b", 'a'), anna, start_of_job), Unavailable);
    EXPECT_THAT(store.unfinished(), SizeIs(1));
}

TEST_F(ServiceStore, NumbersAreNotUsedAgain) {
    Store store(path());
    EXPECT_EQ(store.add(job_named("a", 'a'), anna, start_of_job), 1);
    store.finish(1, JobState::completed, 0, "", start_of_job + 1s);
    store.remove_before(start_of_job + 1s);
    EXPECT_TRUE(store.find(1));
    store.remove_before(start_of_job + 2s);
    EXPECT_FALSE(store.find(1));
    EXPECT_EQ(store.add(job_named("a", 'a'), anna, start_of_job), 2);
}

TEST_F(ServiceStore, AFullDiskIsAnErrorThatLosesNothing) {
    Store store(path());
    store.add(job_named("a", 'a'), anna, start_of_job);
    rlimit before{};
    ::getrlimit(RLIMIT_FSIZE, &before);
    auto const handler = ::signal(SIGXFSZ, SIG_IGN);
    int refused = 0;
    {
        ScopeExit const restore([&] {
            ::setrlimit(RLIMIT_FSIZE, &before);
            ::signal(SIGXFSZ, handler);
        });
        rlimit const little{.rlim_cur = 40'000, .rlim_max = before.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &little);
        for (char token = 'b'; token <= 'f'; ++token) {
            auto job = job_named("long", token);
            job.env["A"] = std::string(20'000, 'a');
            try {
                store.add(job, anna, start_of_job);
            } catch (Unavailable const& problem) {
                ++refused;
                EXPECT_THAT(problem.what(), testing::HasSubstr(path()));
            }
        }
    }
    EXPECT_GT(refused, 0);
    EXPECT_THAT(store.unfinished(), SizeIs(6 - refused));
    EXPECT_NO_THROW(store.add(job_named("after", '0'), anna, start_of_job));
}

TEST_F(ServiceStore, RefusesAnotherFile) {
    std::ofstream(path()) << std::string(5000, 'x');
    EXPECT_THROW(Store{path()}, Unavailable);
    EXPECT_THROW(Store{(folder_.path() / "missing" / "x").string()}, Unavailable);
}

}  // namespace
}  // namespace sinew::launch::service
