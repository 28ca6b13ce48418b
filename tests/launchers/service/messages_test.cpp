// SPDX-License-Identifier: Apache-2.0
// Messages between clients and servers, and what is refused of them.
#include <gmock/gmock.h>

#include <sinew/error.hpp>

#include "launchers/service/job/job_files.hpp"
#include "launchers/service/protocol.hpp"
#include "tests/support/message_of.hpp"

namespace sinew::launch::service {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using Verb = ClientRequest::Verb;

JobRequest a_job() {
    return {.token = std::string(32, 'a'),
            .name = "train",
            .words = {"--tag-output", "./train", "a b", ""},
            .command = "./train a b",
            .env = {{"A", "b=c\n"}},
            .folder = "/home/anna",
            .working_folder = "",
            .ranks = 2,
            .needs = {.gpus = 4, .cpus = 1, .memory = 1u << 30},
            .priority = -3,
            .limit = 90s,
            .grace = 0ms,
            .keep = true};
}

TEST(ServiceMessages, KeepAJob) {
    auto const job = a_job();
    auto const again = parse_job_request(to_json(job));
    EXPECT_EQ(to_json(again), to_json(job));
    EXPECT_EQ(again.words, job.words);
    EXPECT_EQ(again.env, job.env);
    EXPECT_EQ(again.needs, job.needs);
    EXPECT_EQ(again.limit, job.limit);
    auto without = job;
    without.limit.reset();
    EXPECT_EQ(parse_job_request(to_json(without)).limit, std::nullopt);
}

TEST(ServiceMessages, KeepRequests) {
    for (auto const verb : {Verb::submit, Verb::status, Verb::list, Verb::follow, Verb::stop,
                            Verb::announce, Verb::services}) {
        ClientRequest const request{.verb = verb,
                                    .job = a_job(),
                                    .id = 7,
                                    .out = 1u << 20,
                                    .err = 3,
                                    .tail = 10,
                                    .until_end = false,
                                    .owner = true,
                                    .now = true,
                                    .grace = 5s,
                                    .service = {.address = "box:7420", .names = {"a", "b-2.1"}}};
        auto const again = parse_client_request(to_json(request));
        EXPECT_EQ(again.verb, verb);
        EXPECT_EQ(to_json(again), to_json(request));
    }
}

TEST(ServiceMessages, RefuseWhatIsNotARequest) {
    for (auto const* bytes :
         {"", "{", "[]", "{}", R"({"verb":"dance"})", R"({"verb":1})", R"({"verb":"follow"})",
          R"({"verb":"stop","id":0,"now":false,"grace_ms":null})",
          R"({"verb":"stop","id":1e3,"now":false,"grace_ms":null})",
          R"({"verb":"stop","id":1,"now":false,"grace_ms":-1})",
          R"({"verb":"announce","service":{"address":"x","names":["a"]}})",
          R"({"verb":"announce","service":{"address":"x:1","names":[]}})",
          R"({"verb":"announce","service":{"address":"x:1","names":["a b"]}})",
          R"([[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]])"})
        EXPECT_THROW(static_cast<void>(parse_client_request(bytes)), UsageError) << bytes;
}

TEST(ServiceMessages, RefuseJobsThatCannotBe) {
    auto const refusal = [](auto const& change) {
        auto job = a_job();
        change(job);
        return testing_support::message_of<UsageError>(
            [&] { static_cast<void>(parse_job_request(to_json(job))); });
    };
    EXPECT_THAT(refusal([](JobRequest& job) { job.token = "../../etc"; }), HasSubstr("token"));
    EXPECT_THAT(refusal([](JobRequest& job) { job.name = "No Name"; }), HasSubstr("name"));
    EXPECT_THAT(refusal([](JobRequest& job) { job.words.clear(); }), HasSubstr("words"));
    EXPECT_THAT(refusal([](JobRequest& job) { job.folder = "here"; }), HasSubstr("absolute"));
    EXPECT_THAT(refusal([](JobRequest& job) { job.ranks = 0; }), HasSubstr("ranks is 0"));
    EXPECT_THAT(refusal([](JobRequest& job) { job.needs.gpus = -1; }), HasSubstr("gpus is -1"));
    EXPECT_THAT(refusal([](JobRequest& job) { job.priority = 1001; }),
                HasSubstr("priority is 1001"));
    EXPECT_THAT(refusal([](JobRequest& job) { job.env[std::string("A\0B", 3)] = ""; }),
                HasSubstr("env"));
    EXPECT_THAT(refusal([](JobRequest& job) { job.words.emplace_back("\xff"); }),
                HasSubstr("UTF-8"));
}

TEST(ServiceMessages, KeepAnswers) {
    JobEntry const job{.id = 7,
                       .name = "train",
                       .state = "running",
                       .command = "./train",
                       .owner = "anna@laptop (10.0.0.3)",
                       .gpus = "0,3",
                       .cause = "",
                       .needs = {.gpus = 2},
                       .submitted = JobSummary::Time(5s),
                       .started = JobSummary::Time(6s)};
    ServerAnswer answer{.kind = ServerAnswer::Kind::state, .ahead = 3};
    answer.jobs.push_back(job);
    auto const again = parse_server_answer(to_json(answer));
    EXPECT_EQ(to_json(again), to_json(answer));
    EXPECT_EQ(again.jobs.front().started, job.started);
    EXPECT_EQ(again.jobs.front().ended, std::nullopt);
    EXPECT_THROW(
        static_cast<void>(parse_server_answer(R"({"kind":"end","jobs":[],"last":true,"ahead":0})")),
        UsageError);
}

TEST(ServiceMessages, ARecordIsReadOnlyWhenItIsComplete) {
    SupervisorRecord const record{.phase = SupervisorRecord::Phase::ended,
                                  .pid = 12,
                                  .process_start = 34,
                                  .gpus = "1",
                                  .started = JobSummary::Time(5s),
                                  .ended = JobSummary::Time(6s),
                                  .exit_code = 3,
                                  .timed_out = true,
                                  .cause = "it \xff"};
    auto const bytes = to_json(record);
    auto const again = parse_supervisor_record(bytes + "    ");
    ASSERT_TRUE(again);
    EXPECT_EQ(again->exit_code, 3);
    EXPECT_TRUE(again->timed_out);
    for (std::size_t size = 0; size < bytes.size(); ++size)
        EXPECT_FALSE(parse_supervisor_record(bytes.substr(0, size))) << size;
}

}  // namespace
}  // namespace sinew::launch::service
