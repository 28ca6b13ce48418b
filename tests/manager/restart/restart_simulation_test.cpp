// SPDX-License-Identifier: Apache-2.0
// Simulates RestartPolicy, ledger, escrow and dispatcher of a manager that is killed repeatedly,
// while clients call its objects and records overtake each other on the way to the supervisor.
#include <gtest/gtest.h>

#include <cstdlib>
#include <exception>
#include <string>

#include "tests/manager/restart/restart_world.hpp"

namespace sinew::manager {
namespace {

/// Describes the failure of the simulation with this seed; empty if there was none.
std::string lives_trouble_of(std::uint64_t seed) {
    try {
        World world(seed);
        world.chaos(1500);
        world.calm();
        return {};
    } catch (std::exception const& error) {
        return error.what();
    }
}

TEST(LivesSimulation, WhatWasAnsweredOutlivesEveryDeathAndNothingRunsTwice) {
    auto const* const given = std::getenv("SINEW_TEST_SEED");
    std::uint64_t const first = given != nullptr ? std::strtoull(given, nullptr, 10) : 1;
    std::uint64_t const count = given != nullptr ? 1 : 500;
    for (auto seed = first; seed < first + count; ++seed)
        ASSERT_EQ(lives_trouble_of(seed), "")
            << "seed " << seed << "; SINEW_TEST_SEED=" << seed << " runs it alone";
}

}  // namespace
}  // namespace sinew::manager
