// SPDX-License-Identifier: Apache-2.0
// Payloads larger than any buffer, in both directions.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/pool/worker/worker_harness.hpp"

namespace sinew::pool::test {
namespace {

using Words = std::vector<std::uint64_t>;

Words next(Words words) {
    for (auto& word : words) ++word;
    return words;
}

TEST(WorkerPayloadLarge, ArrivesWhole) {
    Master master;
    master.job<&next, Words>(1);
    Words sent((std::size_t{300} << 20) / sizeof(std::uint64_t));
    for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = i * 0x9e3779b97f4a7c15;
    Writer writer;
    add_arguments<&next>(writer, sent);
    master.batch({1, 10, 0, 1, 1, 0}, writer);
    ASSERT_TRUE(master.wait([&] { return master.settled(10, 1); }));
    ASSERT_TRUE(master.heard[10].thrown.empty());
    auto const values = results<Words>(master.heard[10]);
    ASSERT_EQ(values.size(), 1u);
    EXPECT_TRUE(values[0] == next(sent));
}

}  // namespace
}  // namespace sinew::pool::test
