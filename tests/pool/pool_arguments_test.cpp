// SPDX-License-Identifier: Apache-2.0
// Arguments that cannot be decoded by the worker.
#include <gmock/gmock.h>

#include <sinew/pool.hpp>
#include <stdexcept>

#include "tests/pool/pool_fixture.hpp"

namespace sinew::testing_support {
namespace {

using testing::HasSubstr;

using PoolArguments = PoolTest;

/// An argument of any size; if its value ends in 7, it cannot be decoded.
struct Letter {
    int value = 0;
    std::string words;
    template <class Archive>
    void save(Archive& archive) const {
        archive(value, words);
    }
    template <class Archive>
    void load(Archive& archive) {
        archive(value);
        if (value % 10 == 7) throw std::runtime_error("an unlucky letter");
        archive(words);
    }
};

int length_and_value(Letter const& letter) {
    return 1000 * static_cast<int>(letter.words.size()) + letter.value;
}

std::vector<Letter> letters(int count) {
    std::vector<Letter> all;
    for (int i = 0; i < count; ++i) all.push_back({i, std::string(std::size_t(i % 50), 'x')});
    return all;
}

TEST_F(PoolArguments, OnlyTheTasksWhoseArgumentsCannotBeReadFail) {
    Pool pool(2, quiet());
    for (int const chunk : {0, 1, 64}) {
        auto const outcomes =
            pool.with({.chunk = chunk}).map_settled<length_and_value>(letters(200));
        ASSERT_EQ(outcomes.size(), 200U);
        for (int i = 0; i < 200; ++i) {
            if (i % 10 != 7) EXPECT_EQ(outcomes[i].value(), 1000 * (i % 50) + i) << chunk;
            else EXPECT_THROW(outcomes[i].value(), DecodeError) << i << ", " << chunk;
        }
    }
    EXPECT_EQ(pool.stats().deaths, 0U);
    EXPECT_EQ(pool.stats().queued + pool.stats().held, 0U);
}

TEST_F(PoolArguments, TheReasonIsTold) {
    Pool pool(1, quiet());
    try {
        pool.apply<length_and_value>(Letter{17, "abc"});
        FAIL();
    } catch (DecodeError const& error) {
        EXPECT_THAT(error.what(), HasSubstr("an unlucky letter"));
        auto const* const remote = dynamic_cast<RemoteException const*>(&error);
        ASSERT_NE(remote, nullptr);
        ASSERT_EQ(remote->record().causes.size(), 1U);
        EXPECT_EQ(remote->record().causes[0].what, "an unlucky letter");
    }
    EXPECT_EQ(pool.apply<length_and_value>(Letter{1, "abc"}), 3001);
}

}  // namespace
}  // namespace sinew::testing_support
