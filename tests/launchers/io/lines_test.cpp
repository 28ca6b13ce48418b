// SPDX-License-Identifier: Apache-2.0
#include "launchers/io/lines.hpp"

#include <gmock/gmock.h>

#include <random>

namespace sinew::launch {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Shows pieces as text: "^" begins a line, "+" continues it; "$" ends it, "~" does not.
struct LinesTest : ::testing::Test {
    std::vector<std::string> pieces;
    LineAssembler::Sink sink = [this](LineAssembler::Piece piece) {
        std::string shown(piece.starts_line ? "^" : "+");
        shown.append(piece.bytes).append(piece.ends_line ? "$" : "~");
        pieces.push_back(std::move(shown));
    };
    LineAssembler::Clock::time_point const start{1h};
};

TEST_F(LinesTest, WholeLinesGoAtOnceAndTogether) {
    LineAssembler lines;
    lines.feed("one\ntwo\nthr", start, sink);
    EXPECT_THAT(pieces, ElementsAre("^one\ntwo\n$"));
    lines.feed("ee\nfour\nfive", start, sink);
    EXPECT_THAT(pieces, ElementsAre("^one\ntwo\n$", "^three\n$", "^four\n$"));
    lines.finish(sink);
    EXPECT_EQ(pieces.back(), "^five~");
}

TEST_F(LinesTest, APartGoesWhenItHasWaited) {
    LineAssembler lines(100ms);
    EXPECT_EQ(lines.due(), LineAssembler::Clock::time_point::max());
    lines.feed("name? ", start, sink);
    lines.feed("really? ", start + 50ms, sink);
    EXPECT_EQ(lines.due(), start + 100ms);
    lines.flush_stale(start + 99ms, sink);
    EXPECT_THAT(pieces, IsEmpty());
    lines.flush_stale(start + 100ms, sink);
    EXPECT_THAT(pieces, ElementsAre("^name? really? ~"));
    EXPECT_EQ(lines.due(), LineAssembler::Clock::time_point::max());
    lines.feed("yes\nnext\n", start + 200ms, sink);
    EXPECT_THAT(pieces, ElementsAre("^name? really? ~", "+yes\nnext\n$"));
    lines.feed("x\n", start + 200ms, sink);
    EXPECT_EQ(pieces.back(), "^x\n$");
}

TEST_F(LinesTest, APartWaitsAnewWhereNobodyReadForAWhile) {
    LineAssembler lines(100ms);
    lines.wait_anew(start);
    EXPECT_EQ(lines.due(), LineAssembler::Clock::time_point::max()) << "nothing waits";
    lines.feed("half", start, sink);
    lines.wait_anew(start + 1s);
    lines.flush_stale(start + 1s + 99ms, sink);
    EXPECT_THAT(pieces, IsEmpty());
    lines.feed(" and half\n", start + 1s + 99ms, sink);
    EXPECT_THAT(pieces, ElementsAre("^half and half\n$"));
}

TEST_F(LinesTest, ALineLongerThanAnyGoesInParts) {
    LineAssembler lines(100ms, 4);
    lines.feed("abc", start, sink);
    lines.feed("defg", start, sink);
    lines.feed("h\n", start, sink);
    EXPECT_THAT(pieces, ElementsAre("^abcdefg~", "+h\n$"));
}

TEST_F(LinesTest, NothingIsLostHoweverItIsCut) {
    std::mt19937 random(7);
    for (int round = 0; round < 300; ++round) {
        std::string whole, got;
        for (int i = 0; i < 200; ++i) whole += "ab\n"[random() % 3];
        LineAssembler lines(100ms, 1 + random() % 20);
        bool ended = true;
        auto const check = [&](LineAssembler::Piece piece) {
            EXPECT_EQ(piece.starts_line, ended);
            EXPECT_EQ(piece.ends_line, piece.bytes.back() == '\n');
            ended = piece.ends_line;
            got += piece.bytes;
        };
        auto now = start;
        for (std::size_t at = 0; at < whole.size();) {
            auto const size = random() % 30;
            lines.feed(std::string_view(whole).substr(at, size), now, check);
            at += size;
            if (random() % 4 == 0) lines.flush_stale(now += 100ms, check);
        }
        lines.finish(check);
        ASSERT_EQ(got, whole);
    }
}

}  // namespace
}  // namespace sinew::launch
