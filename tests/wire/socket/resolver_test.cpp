// SPDX-License-Identifier: Apache-2.0
#include "src/wire/socket/resolver.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "tests/wire/support.hpp"

namespace sinew::wire {
namespace {

using namespace std::chrono_literals;
using test::run_until;

Resolved resolved(std::string const& host, std::uint16_t port) {
    Loop loop;
    std::optional<Resolved> result;
    auto const handle =
        resolve(loop, host, port, [&](Resolved found) { result = std::move(found); });
    EXPECT_TRUE(run_until(loop, [&] { return result.has_value(); }));
    return result.value_or(Resolved{});
}

TEST(Resolver, FindsTheAddressesOfAHost) {
    auto const found = resolved("localhost", 4711);
    EXPECT_EQ(found.problem, "");
    ASSERT_FALSE(found.addresses.empty());
    for (auto const& each : found.addresses) {
        auto const family = each.get()->sa_family;
        EXPECT_TRUE(family == AF_INET || family == AF_INET6) << family;
        auto const* const ports = reinterpret_cast<unsigned char const*>(each.get()->sa_data);
        EXPECT_EQ(ports[0] * 256 + ports[1], 4711);
    }
}

TEST(Resolver, TellsWhyAHostHasNone) {
    auto const found = resolved("no such host.invalid", 1);
    EXPECT_NE(found.problem, "");
    EXPECT_TRUE(found.addresses.empty());
}

TEST(Resolver, CallsNobodyWhoIsGone) {
    for (int i = 0; i < 20; ++i) {
        auto loop = std::make_unique<Loop>();
        bool called = false;
        auto handle = resolve(*loop, "localhost", 1, [&](Resolved const&) { called = true; });
        if (i % 2 == 0) test::run_for(*loop, i * 100us);
        bool const before = called;
        handle = {};
        if (i % 2 == 1) test::run_for(*loop, 2ms);
        loop = nullptr;  // the thread may still be resolving
        EXPECT_EQ(called, before);
    }
}

}  // namespace
}  // namespace sinew::wire
