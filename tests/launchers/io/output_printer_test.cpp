// SPDX-License-Identifier: Apache-2.0
#include "launchers/io/output_printer.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "launchers/common/encoding.hpp"

namespace sinew::launch {
namespace {

using namespace std::chrono_literals;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr auto out = OutputStream::out, err = OutputStream::err;
using Target = OutputWrite::Target;

/// Prints pieces in the form of LineAssembler: "^" begins a line, "+" continues it.
struct Screen {
    explicit Screen(OutputPrinter::Options options) : printer(std::move(options)) {}
    void say(int rank, std::string_view piece, OutputStream stream = out) {
        auto const bytes = piece.substr(1);
        printer.print(rank, "node-a", stream, {bytes, piece[0] == '^', bytes.back() == '\n'},
                      OutputPrinter::Time(1'700'000'000s + 42ms));
    }
    std::string shown(Target target = Target::out) {
        std::string all;
        for (auto const& write : printer.take())
            if (write.target == target) all += write.bytes;
        return all;
    }
    OutputPrinter printer;
};

TEST(OutputPrinter, PlainPassesBytesUnchanged) {
    Screen screen({});
    screen.say(0, "^a\nb\n");
    screen.say(1, "^par");
    screen.say(0, "^c\n");
    screen.say(1, std::string_view("+\0\xff\n", 4));
    EXPECT_EQ(screen.shown(), std::string("a\nb\nparc\n\0\xff\n", 12));
    EXPECT_THAT(screen.printer.take(), IsEmpty());
}

TEST(OutputPrinter, EveryLineIsTagged) {
    Screen screen({.tag = true});
    screen.say(0, "^a\n\nb\n");
    screen.say(3, "^oops\n", err);
    auto const writes = screen.printer.take();
    ASSERT_THAT(writes, SizeIs(2));
    EXPECT_EQ(writes[0].bytes, "[0]<stdout>: a\n[0]<stdout>: \n[0]<stdout>: b\n");
    EXPECT_EQ(writes[1].target, Target::err);
    EXPECT_EQ(writes[1].bytes, "[3]<stderr>: oops\n");
}

TEST(OutputPrinter, AnInterruptedLineIsEndedAndGoesOnTagged) {
    Screen screen({.tag = true});
    screen.say(0, "^name");
    screen.say(0, "+? ");
    screen.say(1, "^line\n");
    screen.say(0, "+yes\nnext\n");
    EXPECT_EQ(screen.shown(),
              "[0]<stdout>: name? \n[1]<stdout>: line\n[0]<stdout>+: yes\n[0]<stdout>: next\n");
    screen.say(2, "^open");
    screen.say(1, "^x\n", err);
    screen.printer.end_line(err);
    EXPECT_EQ(screen.shown(), "[2]<stdout>: open") << "what we say goes elsewhere";
    screen.printer.end_line(OutputStream::out);
    EXPECT_EQ(screen.shown(), "\n");
}

TEST(OutputPrinter, StreamsInOnePlaceDoNotMixEither) {
    Screen screen({.tag = true, .one_place = true});
    screen.say(0, "^open");
    screen.say(0, "^err\n", err);
    std::string all;
    for (auto const& write : screen.printer.take()) all += write.bytes;
    EXPECT_EQ(all, "[0]<stdout>: open\n[0]<stderr>: err\n");
}

TEST(OutputPrinter, TimesAreRfc3339) {
    Screen screen({.timestamp = true});
    screen.say(0, "^a\n");
    EXPECT_EQ(screen.shown(), "2023-11-14T22:13:20.042Z a\n");
    Screen both({.tag = true, .timestamp = true});
    both.say(7, "^a\n");
    EXPECT_EQ(both.shown(), "2023-11-14T22:13:20.042Z [7]<stdout>: a\n");
}

TEST(OutputPrinter, JsonLinesLoseNothing) {
    Screen screen({.json = true});
    screen.say(2, "^say \"hi\"\nbad \xff\xfe\n", err);
    screen.say(2, "^par");
    screen.say(2, "+t\n");
    std::istringstream lines(screen.shown());
    std::vector<nlohmann::json> objects;
    for (std::string line; std::getline(lines, line);)
        objects.push_back(nlohmann::json::parse(line));
    ASSERT_THAT(objects, SizeIs(4));
    EXPECT_EQ(objects[0], (nlohmann::json{{"rank", 2},
                                          {"node", "node-a"},
                                          {"stream", "stderr"},
                                          {"time", "2023-11-14T22:13:20.042Z"},
                                          {"text", "say \"hi\""}}));
    EXPECT_EQ(objects[1]["bytes"], "YmFkIP/+");
    EXPECT_EQ(objects[1]["text"], "bad \ufffd\ufffd");
    EXPECT_EQ(objects[2]["partial"], true);
    EXPECT_EQ(objects[3]["continues"], true);
    EXPECT_FALSE(objects[3].contains("partial"));
}

TEST(OutputPrinter, EachRankAndStreamHasItsFile) {
    Screen screen({.tag = true, .folder = "logs", .screen = false});
    screen.say(0, "^a\n");
    screen.say(11, "^b", err);
    auto const writes = screen.printer.take();
    ASSERT_THAT(writes, SizeIs(2));
    EXPECT_EQ(writes[0].path, "logs/rank.0.stdout");
    EXPECT_EQ(writes[0].bytes, "a\n");
    EXPECT_EQ(writes[1].path, "logs/rank.11.stderr");
    EXPECT_EQ(writes[1].bytes, "b");
}

TEST(Encoding, Base64IsThatOfTheRfc) {
    EXPECT_EQ(base64(""), "");
    EXPECT_EQ(base64("f"), "Zg==");
    EXPECT_EQ(base64("fo"), "Zm8=");
    EXPECT_EQ(base64("foo"), "Zm9v");
    EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
}

TEST(Encoding, Utf8IsCheckedStrictly) {
    for (auto const* const good : {"", "abc", "\u00e4", "\u20ac", "\U0001f600", "\U0010ffff"})
        EXPECT_TRUE(is_utf8(good)) << good;
    for (auto const* const bad :
         {"\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf0\x80\x80\x80",
          "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xe2\x82", "a\xff"})
        EXPECT_FALSE(is_utf8(bad));
}

}  // namespace
}  // namespace sinew::launch
