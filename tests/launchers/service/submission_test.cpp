// SPDX-License-Identifier: Apache-2.0
// What `sinew run --at` submits.
#include "launchers/service/client/submission.hpp"

#include <gmock/gmock.h>

#include <sinew/error.hpp>

#include "launchers/command_line/parse.hpp"
#include "tests/support/message_of.hpp"

namespace sinew::launch::service {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

JobRequest request_of(std::vector<std::string> words) {
    ProcessContext context;
    context.folder = "/work";
    context.home = "/home/anna";
    context.variables = {{"TOKEN", "secret"}};
    return make_job_request(parse_run(words, context));
}

std::string refusal_of(std::vector<std::string> const& words) {
    return testing_support::message_of<UsageError>([&] { static_cast<void>(request_of(words)); });
}

TEST(ServiceSubmission, HasTheProgramAndTheFlagsForTheServer) {
    auto const request =
        request_of({"--at",       "box",   "-n",           "2",       "--gpu=2",  "--tag-output",
                    "-x",         "TOKEN", "--time-limit", "2h",      "--grace",  "1min",
                    "--priority", "7",     "--cpu",        "1500m",   "--memory", "1Gi",
                    "--name",     "sgd",   "--",           "./train", "--at",     "x"});
    EXPECT_THAT(request.words,
                ElementsAre("--gpu", "2", "--tag-output", "--", "./train", "--at", "x"));
    EXPECT_EQ(request.env, (std::map<std::string, std::string>{{"TOKEN", "secret"}}));
    EXPECT_EQ(request.ranks, 2);
    EXPECT_EQ(request.needs, (Resources{.gpus = 4, .cpus = 3, .memory = std::uint64_t{2} << 30}));
    EXPECT_EQ(request.limit, 2h);
    EXPECT_EQ(request.grace, 1min);
    EXPECT_EQ(request.priority, 7);
    EXPECT_EQ(request.name, "sgd");
    EXPECT_EQ(request.command, "./train --at x");
    EXPECT_EQ(request.folder, "/work");
    EXPECT_FALSE(request.keep);
}

TEST(ServiceSubmission, HasOneRankUnlessSaidOtherwise) {
    EXPECT_EQ(request_of({"--at", "box", "true"}).ranks, 1);
    EXPECT_EQ(request_of({"--at", "box", "-N", "3", "true"}).ranks, 3);
    EXPECT_THAT(request_of({"--at", "box", "/bin/true"}).name, testing::StartsWith("true-"));
    EXPECT_EQ(request_of({"--at", "box", "--wdir", "data", "true"}).working_folder, "/work/data");
    EXPECT_TRUE(request_of({"--at", "box", "-d", "true"}).keep);
    EXPECT_TRUE(request_of({"--at", "box", "--keep", "true"}).keep);
}

TEST(ServiceSubmission, RefusesFlagsThatAServerCannotFollow) {
    EXPECT_THAT(refusal_of({"--at", "b", "--launch-agent", "ssh {host}", "true"}),
                HasSubstr("--launch-agent"));
    EXPECT_THAT(refusal_of({"--at", "b", "--shm", "1Gi", "true"}), HasSubstr("--shm"));
    EXPECT_THAT(refusal_of({"--at", "b", "--stdin", "all", "true"}), HasSubstr("--stdin all"));
    EXPECT_THAT(refusal_of({"--at", "b", "-n", "1", "true", ":", "-n", "1", "false"}),
                HasSubstr("2 programs"));
    EXPECT_THAT(refusal_of({"--at", "b", "--priority", "high", "true"}),
                HasSubstr("--priority high"));
}

}  // namespace
}  // namespace sinew::launch::service
