// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <cereal/types/forward_list.hpp>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <new>

#include "tests/task/random_value.hpp"

namespace {
// Bytes allocated since the start.
constinit std::atomic<std::size_t> asked{0};
}  // namespace

[[gnu::noinline]] void* operator new(std::size_t size) {
    asked += size;
    if (void* memory = std::malloc(size)) return memory;
    throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace sinew::task_test {
namespace {

std::vector<std::byte> encoded(auto const& value) {
    Writer writer;
    encode(writer, value);
    return {writer.bytes().begin(), writer.bytes().end()};
}

template <class T>
T there_and_back(T const& value) {
    auto const bytes = encoded(value);
    Reader reader(bytes);
    T back = decode<T>(reader);
    EXPECT_EQ(reader.left(), 0u);
    return back;
}

/// Decodes arbitrary bytes; returns whether they are a value. Fails the test if more memory than a
/// small multiple of the bytes is used.
template <class T>
bool is_value(std::vector<std::byte> const& bytes) {
    std::size_t const before = asked;
    bool good = true;
    try {
        Reader reader(bytes);
        (void)decode<T>(reader);
    } catch (DecodeError const&) {
        good = false;
    }
    EXPECT_LE(asked - before, 16384 + 64 * bytes.size()) << "of " << bytes.size() << " bytes";
    return good;
}

TEST(Codec, PlainValuesTakeTheirOwnBytes) {
    EXPECT_EQ(encoded(std::int32_t{7}).size(), 4u);
    EXPECT_EQ(encoded(Point{1, 2}).size(), sizeof(Point));
    EXPECT_EQ(there_and_back(Point{1, 2}), (Point{1, 2}));
    EXPECT_EQ(there_and_back(std::chrono::nanoseconds(5)).count(), 5);
    using Grid = std::array<std::array<float, 2>, 3>;
    EXPECT_EQ(encoded(Grid{}).size(), sizeof(Grid));
}

TEST(Codec, AValueWithoutADefaultComesBack) {
    struct Made {
        explicit Made(int x_) : x(x_) {}
        int x;
    };
    EXPECT_EQ(there_and_back(Made(4)).x, 4);
    EXPECT_EQ(there_and_back(std::vector<Made>(3, Made(4))).at(2).x, 4);
}

TEST(Codec, ContainersComeBackEqual) {
    EXPECT_EQ(there_and_back(std::vector<double>{1, 2}), (std::vector<double>{1, 2}));
    EXPECT_EQ(there_and_back(std::vector<double>()), std::vector<double>());
    EXPECT_EQ(there_and_back(std::string("a\0b", 3)), std::string("a\0b", 3));
    EXPECT_EQ(there_and_back(std::list<std::u16string>{u"a", u""}),
              (std::list<std::u16string>{u"a", u""}));
    std::unordered_multimap<int, std::string> const many{{1, "a"}, {1, "b"}, {2, "c"}};
    EXPECT_EQ(there_and_back(many), many);
    std::multiset<int> const set{3, 1, 3};
    EXPECT_EQ(there_and_back(set), set);
    EXPECT_EQ(there_and_back(std::tuple<>()), std::tuple<>());
}

TEST(Codec, RandomNestedValuesComeBackEqual) {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        auto const value = RandomValue(seed).anything();
        ASSERT_TRUE(there_and_back(value) == value) << "seed " << seed;
    }
}

TEST(Codec, SharedObjectsAreSharedAgain) {
    std::vector<Record> records(2);
    records[0].name = records[1].name = std::make_shared<std::string>("one");
    auto const back = there_and_back(records);
    EXPECT_EQ(*back[0].name, "one");
    EXPECT_EQ(back[0].name, back[1].name);
}

TEST(Codec, ContainersThatOnlyCerealKnowsHoldWhatEncodesItself) {
    std::tuple<std::forward_list<Handle>> const value({{"a"}, {"b"}});
    EXPECT_EQ(there_and_back(value), value);
}

struct Plain {
    int shown = 0, hidden = 0;
    template <class Archive>
    void serialize(Archive& archive) {
        archive(shown);
    }
};
TEST(Codec, MembersForCerealGoBeforeBytes) {
    EXPECT_EQ(encoded(Plain{1, 2}).size(), sizeof(int));
    EXPECT_EQ(there_and_back(Plain{1, 2}).hidden, 0);
}

struct Unwritten {
    std::string text = "kept here";
    template <class Archive>
    void serialize(Archive&) {}
};
TEST(Codec, ElementsThatWriteNothingAreCountedAllTheSame) {
    EXPECT_EQ(there_and_back(std::vector<Unwritten>(5)).size(), 5u);
    EXPECT_EQ(there_and_back(std::vector<std::vector<Unwritten>>(3)).size(), 3u);
    EXPECT_EQ(there_and_back(std::list<std::tuple<>>(4)).size(), 4u);
}

class Shy {
public:
    static Shy of(int x) {
        Shy shy;
        shy.x_ = x;
        return shy;
    }
    int x() const { return x_; }

private:
    friend class cereal::access;
    Shy() = default;
    template <class Archive>
    void serialize(Archive& archive) {
        archive(x_, words_);
    }
    int x_ = 0;
    std::string words_;
};
TEST(Codec, CerealsFriendsMayBePrivate) { EXPECT_EQ(there_and_back(Shy::of(3)).x(), 3); }

TEST(Codec, EveryTruncationIsRefused) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        auto const whole = encoded(RandomValue(seed).anything());
        ASSERT_TRUE(is_value<Anything>(whole));
        for (std::size_t size = 0; size < whole.size(); ++size)
            ASSERT_FALSE(is_value<Anything>({whole.begin(), whole.begin() + long(size)}))
                << "seed " << seed << ", the first " << size << " of " << whole.size();
    }
}

TEST(Codec, MutationsGiveAValueOrDecodeError) {
    int refused = 0;
    for (std::uint64_t seed = 0; seed < 4000; ++seed) {
        RandomValue random(seed);
        auto bytes = encoded(random.anything());
        for (auto n = 1 + random.number(4); n > 0; --n)
            bytes[random.number(bytes.size())] = static_cast<std::byte>(random.number(256));
        refused += !is_value<Anything>(bytes);
    }
    EXPECT_GT(refused, 1000);
}

TEST(Codec, TwelveBytesThatClaimEightGibibytesAreRefused) {
    for (std::uint64_t const claimed :
         {std::uint64_t{8} << 30, std::numeric_limits<std::uint64_t>::max(),
          std::numeric_limits<std::uint64_t>::max() / 8 + 2}) {
        auto const bytes = encoded(std::pair(claimed, 0));
        ASSERT_EQ(bytes.size(), 12u);
        EXPECT_FALSE(is_value<std::string>(bytes));
        EXPECT_FALSE(is_value<std::vector<double>>(bytes));
        EXPECT_FALSE(is_value<std::vector<bool>>(bytes));
        EXPECT_FALSE(is_value<std::vector<Unwritten>>(bytes));
        EXPECT_FALSE((is_value<std::unordered_map<int, std::string>>(bytes)));
        EXPECT_FALSE(is_value<std::forward_list<Handle>>(bytes));
        EXPECT_FALSE(is_value<Record>(bytes));
    }
}

TEST(Codec, WhatIsNoBoolAndNoAlternativeIsRefused) {
    EXPECT_FALSE(is_value<bool>({std::byte{2}}));
    EXPECT_FALSE(is_value<std::vector<bool>>(encoded(std::vector<char>{1, 2})));
    EXPECT_FALSE((is_value<std::variant<char, int>>(encoded(std::pair<std::uint16_t, int>(2, 0)))));
}

TEST(Writer, KeepsWhatWasWrittenAndTakesBack) {
    Writer writer;
    EXPECT_TRUE(writer.bytes().empty());
    for (int i = 0; i < 10000; ++i) encode(writer, i);
    std::size_t const size = writer.size();
    encode(writer, std::string(100000, 'x'));
    writer.truncate(size);
    Reader reader(writer.bytes());
    for (int i = 0; i < 10000; ++i) ASSERT_EQ(decode<int>(reader), i);
    EXPECT_EQ(reader.left(), 0u);
    writer.clear();
    EXPECT_EQ(writer.size(), 0u);
}

TEST(Writer, MoreThanThereIsThrowsAndLosesNothing) {
    Writer writer;
    encode(writer, 7);
    std::size_t const volatile huge = std::numeric_limits<std::size_t>::max() / 2;
    EXPECT_THROW(writer.write(&writer, huge), std::bad_alloc);
    Reader reader(writer.bytes());
    EXPECT_EQ(decode<int>(reader), 7);
}

}  // namespace
}  // namespace sinew::task_test
