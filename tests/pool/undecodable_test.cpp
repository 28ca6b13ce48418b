// SPDX-License-Identifier: Apache-2.0
// A result that cannot be decoded: later results in its message fail, too, and are never wrong.
#include <gmock/gmock.h>

#include <cstdint>
#include <sinew/pool.hpp>
#include <sinew/task/encoding.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/pool/pool_fixture.hpp"

namespace sinew::testing_support {
namespace {

constexpr int undecodable_key = 3, throwing_key = 6, tasks_in_message = 10;

/// Decoding reads a key; for `undecodable_key` it throws before it has read the rest.
struct HalfDecoded {
    std::int32_t key = 0, rest = 0;
    void encode_to(Writer& writer) const {
        encode(writer, key);
        encode(writer, rest);
    }
    static HalfDecoded decode_from(Reader& reader) {
        auto const key = decode<std::int32_t>(reader);
        if (key == undecodable_key) throw std::range_error("half decoded");
        return {key, decode<std::int32_t>(reader)};
    }
};

HalfDecoded half_decoded(int key) {
    if (key == throwing_key) throw std::domain_error("of the task's own");
    return {key, key + 1000};
}

PoolOptions one_worker_only() {
    auto options = PoolTest::quiet();
    options.workers = 1;
    return options;
}

// The outcome of a task: both parts of its value, or the exception.
template <class Get>
std::string outcome_of(Get const& get) {
    try {
        HalfDecoded const value = get();
        return std::to_string(value.key) + "/" + std::to_string(value.rest);
    } catch (std::exception const& error) {
        return error.what();
    }
}

// A worker sends its results in one or several messages. Results after the undecodable one fail up
// to the end of its message, and are right from there on. A task that threw has no value to decode.
bool as_expected(std::vector<std::string> const& outcomes) {
    if (outcomes.size() != tasks_in_message || outcomes[undecodable_key] != "half decoded" ||
        outcomes[throwing_key] != "of the task's own")
        return false;
    bool lost = false;
    for (int key = 0; key < tasks_in_message; ++key) {
        if (key == throwing_key) continue;
        auto const right = std::to_string(key) + "/" + std::to_string(key + 1000);
        lost = key == undecodable_key || (lost && outcomes[key] == "half decoded");
        if (!lost && outcomes[key] != right) return false;
    }
    return true;
}

struct Undecodable : PoolTest {};

TEST_F(Undecodable, ResultsFailWithAllBehindThemInTheirMessage) {
    Pool pool(one_worker_only());
    TaskOptions options;
    options.chunk = tasks_in_message;
    auto const inputs = range(0, tasks_in_message);
    std::vector<std::string> settled, streamed;
    for (auto& each : pool.with(options).map_settled<half_decoded>(inputs))
        settled.push_back(outcome_of([&] { return each.take(); }));
    auto stream = pool.with(options).imap<half_decoded>(inputs);
    for (auto at = stream.begin(); at != stream.end(); ++at)
        streamed.push_back(outcome_of([&] { return *at; }));
    EXPECT_PRED1(as_expected, settled);
    EXPECT_PRED1(as_expected, streamed);
    EXPECT_THROW(pool.with(options).map<half_decoded>(inputs), std::range_error);
    EXPECT_EQ(pool.apply<half_decoded>(8).rest, 1008);
}

}  // namespace
}  // namespace sinew::testing_support
