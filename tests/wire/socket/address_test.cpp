// SPDX-License-Identifier: Apache-2.0
#include "src/wire/socket/address.hpp"

#include <gmock/gmock.h>

#include <sinew/error.hpp>

namespace sinew::wire {
namespace {

using testing::HasSubstr;

TEST(Address, ReadsWhatItPrints) {
    for (char const* written : {"unix:/run/x/agent.sock", "unix:relative", "tcp:10.0.0.3:4711",
                                "tcp:[fd00::3]:4711", "tcp:node-b:0", "tcp:[fe80::1%eth0]:65535"})
        EXPECT_EQ(Address::parse(written).text(), written);
    EXPECT_EQ(Address::parse("tcp:[fd00::3]:4711"), Address::tcp("fd00::3", 4711));
    EXPECT_EQ(Address::parse("unix:/a:b"), Address::unix_socket("/a:b"));
}

TEST(Address, RefusesTheRestByName) {
    for (char const* written :
         {"", "unix:", "tcp:", "tcp:host", "tcp::1", "tcp:host:", "tcp:h:70000", "tcp:h:1x",
          "tcp:fd00::3:4711", "tcp:[]:1", "10.0.0.3:4711", "http://x:1", "tcp:h:-1"}) {
        try {
            (void)Address::parse(written);
            ADD_FAILURE() << written;
        } catch (UsageError const& error) {
            EXPECT_THAT(error.what(), HasSubstr("'" + std::string(written) + "'"));
            EXPECT_THAT(error.what(), HasSubstr("unix:/folder/name"));
        }
    }
}

TEST(Interfaces, HaveLoopbackLast) {
    auto const found = interfaces();
    ASSERT_FALSE(found.empty());
    bool loopback = false;
    for (auto const& each : found) {
        EXPECT_FALSE(loopback && !each.loopback) << each.name;
        loopback = each.loopback;
    }
    auto const back = interface_of("127.0.0.1");
    EXPECT_EQ(back.prefix, 8);
    EXPECT_TRUE(back.loopback);
    EXPECT_TRUE(interface_of("192.0.2.1").name.empty());
}

}  // namespace
}  // namespace sinew::wire
