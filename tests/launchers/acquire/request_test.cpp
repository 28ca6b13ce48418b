// SPDX-License-Identifier: Apache-2.0
#include "launchers/acquire/request.hpp"

#include <gmock/gmock.h>

#include <sinew/error.hpp>
#include <sinew/task/encoding.hpp>

#include "src/nodes/acquire/agent_config.hpp"
#include "src/nodes/acquire/backend_protocol.hpp"

namespace sinew::launch {
namespace {

// What the library writes, the command reads, and the other way round.
TEST(AcquireRequestTest, IsWhatTheLibraryAsksFor) {
    NodesOptions options;
    options.count = 4;
    options.hosts = {"a", "user@b.example"};
    options.launch_agent = "rsh {host}";
    options.env = {"A=b=c", "EMPTY="};
    options.meta = {.cpu = 2, .memory_mib = 1024, .gpu = 1};
    options.image = "registry/image:1";
    options.name = "workers";
    options.time_limit = std::chrono::microseconds(1500);
    options.priority = -7;
    options.replace = false;
    nodes::AgentConfig const config{.session = std::string(64, 'a'),
                                    .addresses = {"tcp:10.0.0.1:7"},
                                    .master = "pid 1 on \"x\"",
                                    .env = options.env,
                                    .meta = options.meta};
    auto const line = nodes::request_line(options, "ssh", "/bin/prog", nodes::config_line(config));
    EXPECT_EQ(line.find('\n'), line.size() - 1);
    auto const request = parse_acquire_request(line);
    EXPECT_EQ(request.backend, "ssh");
    EXPECT_EQ(request.count, 4);
    EXPECT_EQ(request.hosts, options.hosts);
    EXPECT_EQ(request.launch_agent, "rsh {host}");
    EXPECT_EQ(request.command, std::vector<std::string>{"/bin/prog"});
    EXPECT_EQ(request.env, (std::map<std::string, std::string>{{"A", "b=c"}, {"EMPTY", ""}}));
    EXPECT_EQ(request.cpu, 2);
    EXPECT_EQ(request.memory_mib, 1024U);
    EXPECT_EQ(request.time_limit, std::chrono::milliseconds(2));
    EXPECT_EQ(request.priority, -7);
    EXPECT_FALSE(request.replace);
    EXPECT_EQ(request.gpu, 1);
    EXPECT_EQ(request.image, "registry/image:1");
    EXPECT_EQ(request.name, "workers");
    auto const back = nodes::parse_config(request.configuration);
    EXPECT_EQ(back.session, config.session);
    EXPECT_EQ(back.addresses, config.addresses);
    EXPECT_EQ(back.master, config.master);
    EXPECT_EQ(back.env, config.env);
    EXPECT_EQ(back.meta, config.meta);
}

TEST(AcquireRequestTest, CommandsAreRead) {
    EXPECT_EQ(parse_acquire_command(nodes::count_line(7)).count, 7);
    EXPECT_EQ(parse_acquire_command(nodes::joined_line("n-1.2")).joined, "n-1.2");
    EXPECT_EQ(parse_acquire_command(nodes::lost_line("n-1.2")).lost, "n-1.2");
}

TEST(AcquireRequestTest, EventsAreRead) {
    using nodes::BackendEvent;
    EXPECT_EQ(nodes::parse_event(ready_line()).kind, BackendEvent::Kind::ready);
    auto const failed = nodes::parse_event(failed_line("why\x1b[0m"));
    EXPECT_EQ(failed.kind, BackendEvent::Kind::failed);
    EXPECT_EQ(failed.text.find('\x1b'), std::string::npos);
    auto const state = nodes::parse_event(state_line("n-1", "gone", "0/4 nodes"));
    EXPECT_EQ(state.state, BackendEvent::State::gone);
    EXPECT_EQ(state.node, "n-1");
    EXPECT_EQ(state.text, "0/4 nodes");
    for (auto const* line : {"", "{}", "[]", "3", R"({"event":"odd"})", R"({"event":3})",
                             R"({"event":"state","node":"a","state":"odd","reason":""})"})
        EXPECT_THROW(nodes::parse_event(line), DecodeError) << line;
}

TEST(AcquireRequestTest, WhatIsNotValidIsRefusedWithoutTheSecret) {
    std::string const secret = "5ec2e7";
    for (std::string const start :
         {R"({"count":-1)", R"({"count":70000)", R"({"count":1.5)", R"({"count":"2")",
          R"({"hosts":["-oProxyCommand=x"])", R"({"hosts":["a b"])", R"({"hosts":[""])",
          R"({"hosts":"a")", R"({"command":[])", R"({"command":["a\u0000b"])", R"({"name":"A/b")",
          R"({"env":{"A=":"b"})", R"({"cpu":-2)", R"({"memory_mib":"x")"}) {
        auto line = start + R"(,"configuration":")" + secret + R"(")";
        if (line.find("command") == std::string::npos) line += R"(,"command":["p"])";
        line += "}";
        try {
            parse_acquire_request(line);
            ADD_FAILURE() << line;
        } catch (UsageError const& error) {
            EXPECT_THAT(error.what(), testing::Not(testing::HasSubstr(secret)));
        }
    }
    EXPECT_THROW(parse_acquire_request("{"), UsageError);
    EXPECT_THROW(parse_acquire_command(R"({"count":-3})"), UsageError);
    EXPECT_THROW(nodes::parse_config(R"({"session":"x"})"), UsageError);
    EXPECT_THROW(nodes::parse_config("x"), UsageError);
}

}  // namespace
}  // namespace sinew::launch
