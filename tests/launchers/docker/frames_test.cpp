// SPDX-License-Identifier: Apache-2.0
#include "launchers/docker/frames.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sinew/error.hpp>
#include <string>

namespace sinew::launch::docker {
namespace {

using Stream = FrameParser::Stream;

std::string frame(int stream, std::string const& bytes) {
    std::string made(8, '\0');
    made[0] = static_cast<char>(stream);
    for (int i = 0; i < 4; ++i)
        made[static_cast<std::size_t>(4 + i)] = static_cast<char>(bytes.size() >> (24 - 8 * i));
    return made + bytes;
}

struct Received {
    std::string out, err;
    FrameParser::Give give() {
        return [this](Stream stream, std::string_view bytes) {
            (stream == Stream::out ? out : err) += bytes;
        };
    }
};

TEST(FrameParser, GivesTheBytesOfEachStreamHoweverTheyArrive) {
    auto const all = frame(1, "first") + frame(2, "wrong") + frame(1, "") +
                     frame(1, std::string(70'000, 'x')) + frame(2, "!");
    for (std::size_t const step : {std::size_t{1}, std::size_t{7}, std::size_t{4096}, all.size()}) {
        FrameParser parser;
        Received received;
        for (std::size_t at = 0; at < all.size(); at += step)
            parser.feed(std::string_view(all).substr(at, step), received.give());
        EXPECT_EQ(received.out, "first" + std::string(70'000, 'x'));
        EXPECT_EQ(received.err, "wrong!");
        EXPECT_TRUE(parser.between_frames());
    }
}

TEST(FrameParser, KeepsNothingOfAFrameOfFourGibibytes) {
    FrameParser parser;
    Received received;
    std::string const head("\1\0\0\0\xff\xff\xff\xff", 8);
    parser.feed(head + "some", received.give());
    EXPECT_EQ(received.out, "some");
    EXPECT_FALSE(parser.between_frames());
}

TEST(FrameParser, RefusesWhatIsNoFrameAndAllThatFollows) {
    for (auto const* head : {"\4\0\0\0", "\1\1\0\0", "\1\0\0\2", "HTTP"}) {
        FrameParser parser;
        Received received;
        auto const words = frame(2, "before") + std::string(head, 4) + "1234";
        EXPECT_THROW(parser.feed(words, received.give()), Unavailable);
        EXPECT_EQ(received.err, "before");
        EXPECT_THROW(parser.feed(frame(1, "after"), received.give()), Unavailable);
        EXPECT_EQ(received.out, "");
    }
}

}  // namespace
}  // namespace sinew::launch::docker
