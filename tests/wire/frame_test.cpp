// SPDX-License-Identifier: Apache-2.0
#include "src/wire/frame.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "src/wire/hello.hpp"
#include "src/wire/socket/send_queue.hpp"
#include "tests/wire/support.hpp"

namespace sinew::wire {
namespace {

using test::bytes;
using testing::ElementsAreArray;
using testing::HasSubstr;

std::string frame(std::uint8_t kind, std::string const& payload) {
    auto const header = encode({static_cast<std::uint32_t>(payload.size()), kind, 0, 0x1234});
    return test::string(header) + payload;
}

/// Feeds bytes to a reader, `step` at a time, and returns the payloads.
std::vector<std::string> feed(FrameReader& reader, std::string const& input, std::size_t step) {
    std::vector<std::string> payloads;
    for (std::size_t done = 0; done < input.size();) {
        auto const room = reader.room();
        std::size_t const part = std::min({step, input.size() - done, room.size()});
        std::memcpy(room.data(), input.data() + done, part);
        reader.filled(part);
        done += part;
        while (auto const next = reader.next()) payloads.push_back(test::string(next->payload));
        if (!reader.problem().empty()) break;
    }
    return payloads;
}

TEST(FrameHeader, IsLittleEndian) {
    auto const header = encode({0x04030201, 0x05, 0x06, 0x0807});
    EXPECT_EQ(test::string(header), "\x01\x02\x03\x04\x05\x06\x07\x08");
    auto const back = decode_header(header);
    EXPECT_EQ(back.length, 0x04030201u);
    EXPECT_EQ(back.kind, 5);
    EXPECT_EQ(back.flags, 6);
    EXPECT_EQ(back.stream, 0x0807);
}

TEST(FrameReader, FindsFramesHoweverTheBytesAreCut) {
    std::vector<std::string> const payloads{"", "a", std::string(100, 'b'), "", "last"};
    std::string input;
    for (auto const& payload : payloads) input += frame(7, payload);
    for (std::size_t step = 1; step <= input.size(); ++step) {
        FrameReader reader(1000);
        EXPECT_THAT(feed(reader, input, step), ElementsAreArray(payloads)) << step;
    }
}

TEST(FrameReader, FindsManyOfAllSizes) {
    std::mt19937 random(1);
    std::vector<std::string> payloads;
    std::string input;
    for (int i = 0; i < 300; ++i) {
        std::size_t const size = random() % (i % 50 == 0 ? 3'000'000 : 3000);
        payloads.emplace_back(size, static_cast<char>('a' + i % 26));
        input += frame(1, payloads.back());
    }
    for (std::size_t const step : {std::size_t{997}, std::size_t{70'000}, input.size()}) {
        FrameReader reader(4'000'000);
        EXPECT_THAT(feed(reader, input, step), ElementsAreArray(payloads));
    }
}

TEST(FrameReader, RefusesAFrameBeyondItsLimit) {
    FrameReader reader(10);
    EXPECT_THAT(feed(reader, frame(1, "0123456789") + frame(1, "0123456789a"), 5),
                ElementsAreArray({"0123456789"}));
    EXPECT_THAT(reader.problem(), HasSubstr("11 bytes (the limit is 10)"));
    EXPECT_FALSE(reader.next());
}

TEST(FrameReader, RefusesUnknownFlags) {
    FrameReader reader(10);
    std::string input = frame(1, "x");
    input[5] = 1;
    EXPECT_TRUE(feed(reader, input, 100).empty());
    EXPECT_THAT(reader.problem(), HasSubstr("flags"));
}

TEST(FrameReader, TakesNoMemoryForAClaim) {
    FrameReader reader(1u << 31);
    auto const header = encode({1u << 30, 1, 0, 0});
    auto room = reader.room();
    std::memcpy(room.data(), header.data(), header.size());
    reader.filled(header.size());
    EXPECT_FALSE(reader.next());
    EXPECT_LT(reader.room().size(), 1u << 20);
}

TEST(SendQueue, GivesBackWhatWasPutIn) {
    SendQueue queue;
    std::mt19937 random(2);
    std::string in, out;
    while (in.size() < 5'000'000 || !queue.empty()) {
        if (in.size() < 5'000'000) {
            std::string const part(random() % (random() % 20 == 0 ? 300'000 : 500),
                                   static_cast<char>('a' + random() % 26));
            in += part;
            queue.append(bytes(part));
        }
        std::array<iovec, 3> blocks;
        std::size_t left = random() % 150'000, taken = 0;
        for (std::size_t i = 0, count = queue.gather(blocks); i < count && left > 0; ++i) {
            std::size_t const part = std::min(left, blocks[i].iov_len);
            out.append(static_cast<char const*>(blocks[i].iov_base), part);
            taken += part;
            left -= part;
        }
        queue.consume(taken);
    }
    EXPECT_EQ(in, out);
}

TEST(Hello, ReadsWhatItPrints) {
    auto const secret = Secret::random();
    Hello const hello{protocol_version, Hello::mark_of(secret), {7, 8, 9, "agent on node-b"}, 1000};
    auto const back = Hello::decode(bytes(hello.encode()));
    ASSERT_TRUE(back);
    EXPECT_EQ(back->mark, hello.mark);
    EXPECT_EQ(back->self.node, 7u);
    EXPECT_EQ(back->self.slot, 8u);
    EXPECT_EQ(back->self.epoch, 9u);
    EXPECT_EQ(back->self.name, "agent on node-b");
    EXPECT_EQ(back->max_frame, 1000u);
}

TEST(Hello, RefusesWhatIsShort) {
    auto const whole = Hello{protocol_version, {}, {1, 2, 3, "name"}, 1000}.encode();
    for (std::size_t size = 0; size < whole.size(); ++size)
        EXPECT_FALSE(Hello::decode(bytes(whole.substr(0, size)))) << size;
    EXPECT_FALSE(Hello::decode(bytes("SINW" + whole.substr(4))));
}

TEST(Hello, TellsAnotherVersionWhateverFollows) {
    auto const other = Hello{9, {}, {}, 0}.encode().substr(0, 6);
    auto const back = Hello::decode(bytes(other));
    ASSERT_TRUE(back);
    EXPECT_EQ(back->version, 9);
}

TEST(Hello, KeepsControlCharactersOutOfNames) {
    auto const back =
        Hello::decode(bytes(Hello{protocol_version, {}, {0, 0, 0, "a\n\x1b[2J"}, 0}.encode()));
    ASSERT_TRUE(back);
    EXPECT_EQ(back->self.name, "a??[2J");
}

}  // namespace
}  // namespace sinew::wire
