// SPDX-License-Identifier: Apache-2.0
// One line with the configurations of several agents.
#include <gmock/gmock.h>

#include <cstdlib>

#include "launchers/tree/protocol.hpp"
#include "src/base/text.hpp"
#include "tests/support/refusal.hpp"

namespace sinew::launch {
namespace {

using testing_support::refusal;

constexpr char variable[] = "SINEW_TEST_HOST_VARIABLE";

class SharedConfig : public testing::Test {
protected:
    ~SharedConfig() override { ::unsetenv(variable); }

    static AgentConfig config(int node) {
        AgentConfig config;
        config.job = "0123456789ab";
        config.secret = std::string(64, 'c');
        config.node = node;
        config.name = text("n", node);
        config.place.rack = text("r", node / 2);
        return config;
    }
    static std::string line(int nodes) {
        std::map<std::string, std::string> lines;
        for (int node = 0; node < nodes; ++node)
            lines.emplace(text("host", node), config_line(config(node)));
        return shared_config_line(lines, variable);
    }
};

TEST_F(SharedConfig, HasAPartForEachHost) {
    for (int const node : {0, 3, 11}) {
        ::setenv(variable, text("host", node).c_str(), 1);
        EXPECT_EQ(config_line(parse_config(line(12))), config_line(config(node)));
    }
}

TEST_F(SharedConfig, RefusesOtherHosts) {
    ::setenv(variable, "elsewhere", 1);
    auto const said = refusal([] { parse_config(line(2)); });
    EXPECT_THAT(said, testing::HasSubstr("no node elsewhere"));
    EXPECT_THAT(said, testing::Not(testing::HasSubstr("ccc")));
    ::unsetenv(variable);
    EXPECT_THAT(refusal([] { parse_config(line(2)); }), testing::HasSubstr(variable));
    EXPECT_THAT(refusal([] { parse_config(R"({"by_host": 1})"); }),
                testing::HasSubstr("not a valid agent configuration"));
}

// A pipe takes 1 MiB, which thousands of nodes must fit into.
TEST_F(SharedConfig, RepeatsNothing) {
    EXPECT_EQ(line(100).find(std::string(64, 'c')), line(100).rfind(std::string(64, 'c')));
    EXPECT_LT(line(8000).size(), std::size_t{1} << 20);
}

}  // namespace
}  // namespace sinew::launch
