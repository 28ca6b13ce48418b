// SPDX-License-Identifier: Apache-2.0
#include "launchers/control/protocol.hpp"

#include <gtest/gtest.h>

#include <sinew/error.hpp>
#include <string>
#include <vector>

namespace sinew::launch {
namespace {

TEST(ControlProtocol, CarriesRequests) {
    ControlRequest const request{.verb = ControlRequest::Verb::logs,
                                 .ranks = std::set{0, 5},
                                 .follow = true,
                                 .tail = 3,
                                 .now = true,
                                 .grace = std::chrono::milliseconds(1500)};
    auto const found = parse_request(to_line(request));
    EXPECT_EQ(found.verb, request.verb);
    EXPECT_EQ(found.ranks, request.ranks);
    EXPECT_EQ(found.tail, request.tail);
    EXPECT_EQ(found.grace, request.grace);
    EXPECT_TRUE(found.follow && found.now);
}

TEST(ControlProtocol, RefusesWhatIsNoRequest) {
    for (auto const* line :
         {"", "{", "[]", "7", "{\"request\":\"reboot\"}", "{\"request\":\"logs\",\"ranks\":3}",
          "{\"request\":\"logs\",\"ranks\":[-1]}", "{\"request\":\"logs\",\"tail\":1e30}",
          "{\"request\":\"logs\",\"tail\":18446744073709551615}",
          "{\"request\":\"stop\",\"grace_ms\":-5}", "{\"request\":\"stop\",\"now\":\"yes\"}"})
        EXPECT_THROW(parse_request(line), UsageError) << line;
    EXPECT_THROW(parse_request(std::string(longest_request + 1, ' ')), UsageError);
}

TEST(ControlProtocol, CarriesAnswers) {
    JobSummary job{.name = "train",
                   .id = "0123456789ab",
                   .backend = "ssh",
                   .command = "./a \xff",
                   .state = "running",
                   .host = "here",
                   .pid = 12,
                   .ranks = 2,
                   .nodes = 1,
                   .ranks_running = 1,
                   .restarts = 4,
                   .started = std::chrono::system_clock::time_point(std::chrono::seconds(1700)),
                   .exit_code = {},
                   .cause = "",
                   .per_rank = {{.rank = 0, .node = "n", .host = "h", .pid = 3, .state = "ended"}}};
    auto const status = parse_answer(status_line(job));
    ASSERT_EQ(status.kind, ControlAnswer::Kind::status);
    EXPECT_EQ(status.job.name, job.name);
    EXPECT_EQ(status.job.started, job.started);
    EXPECT_EQ(status.job.per_rank.size(), 1u);
    EXPECT_EQ(parse_answer(skipped_line(1 << 20)).bytes, 1u << 20);
    EXPECT_EQ(parse_answer(logs_end_line()).kind, ControlAnswer::Kind::logs_end);
    auto const end = parse_answer(ended_line(3, "rank 3"));
    EXPECT_EQ(end.kind, ControlAnswer::Kind::ended);
    EXPECT_EQ(end.exit_code, 3);
    EXPECT_EQ(end.text, "rank 3");
    EXPECT_EQ(parse_answer(refused_line("no")).text, "no");
    EXPECT_THROW(parse_answer("{\"ended\":256,\"cause\":\"\"}"), UsageError);
    EXPECT_THROW(parse_answer("{\"per_rank\":7}"), UsageError);
    // Nesting costs no stack.
    EXPECT_THROW(parse_answer(std::string(1 << 20, '[')), UsageError);
}

TEST(ControlProtocol, CarriesOutputWithAnyBytes) {
    for (auto const& bytes : std::vector<std::string>{"plain\n", "no end", "two\nlines\n",
                                                      std::string("\xff\0\x01\n", 4), "\n"}) {
        OutputPrinter printer({.json = true});
        auto const when = std::chrono::system_clock::time_point(std::chrono::milliseconds(1234567));
        printer.print(3, "a", OutputStream::err,
                      {.bytes = bytes, .starts_line = true, .ends_line = bytes.back() == '\n'},
                      when);
        std::string all, again;
        for (auto const& write : printer.take()) all += write.bytes;
        for (std::size_t at = 0; at < all.size();) {
            auto const end = all.find('\n', at);
            auto const answer = parse_answer(all.substr(at, end - at));
            ASSERT_EQ(answer.kind, ControlAnswer::Kind::output);
            EXPECT_EQ(answer.record.rank, 3);
            EXPECT_EQ(answer.record.stream, OutputStream::err);
            EXPECT_EQ(answer.record.time, when);
            again += answer.record.bytes;
            at = end + 1;
        }
        EXPECT_EQ(again, bytes);
    }
}

}  // namespace
}  // namespace sinew::launch
