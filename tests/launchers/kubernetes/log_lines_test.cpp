// SPDX-License-Identifier: Apache-2.0
#include "launchers/kubernetes/log_lines.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sinew::launch::kubernetes {
namespace {

struct Given {
    std::vector<std::string> lines;
    LogLines log{[this](std::string_view line) { lines.emplace_back(line); }};

    void whole(std::string_view data) {
        for (std::size_t i = 0; i < data.size(); ++i) log.add(data.substr(i, 1));
    }
};
using Lines = std::vector<std::string>;

TEST(LogLines, GivesEachLineOnceHoweverTheLogIsCut) {
    // What a server has: it looks for whole seconds, and counts in nanoseconds.
    std::string const first = "2026-01-02T03:04:04.9Z before\n";
    std::string const second =
        "2026-01-02T03:04:05.1Z a\n2026-01-02T03:04:05.100000000Z b\n"
        "2026-01-02T03:04:05.1000Z c\n2026-01-02T03:04:05.2Z\n2026-01-02T03:04:05.2Z  e \n";
    for (std::size_t cut = 0; cut <= first.size() + second.size(); ++cut) {
        Given given;
        given.log.add((first + second).substr(0, cut));
        given.log.reopen();
        bool const is_in_second = given.log.since() > "2026-01-02T03:04:05";
        given.whole(is_in_second ? second : first + second);
        given.log.end();
        EXPECT_EQ(given.lines, (Lines{"before", "a", "b", "c", "", " e "})) << "cut at " << cut;
    }
}

TEST(LogLines, AClockThatIsSetBackLosesNoLine) {
    Given given;
    given.whole("2026-01-02T03:04:05.5Z a\n2026-01-02T03:04:03.1Z b\n");
    given.log.reopen();
    EXPECT_EQ(given.log.since(), "2026-01-02T03:04:03.100000000Z");
    given.whole("2026-01-02T03:04:03.1Z b\n2026-01-02T03:04:03.2Z c\n2026-01-02T03:04:02Z d\n");
    EXPECT_EQ(given.lines, (Lines{"a", "b", "c", "d"}));
}

// A runtime that cuts lines into parts may have written the first part of one before since().
TEST(LogLines, TheRestOfALineThatWasGivenIsNotALine) {
    Given given;
    given.whole("2026-01-02T03:04:05Z long line\n2026-01-02T03:04:06Z b\n");
    given.log.reopen();
    given.whole("line\n2026-01-02T03:04:06Z b\n2026-01-02T03:04:07Z c\n");
    EXPECT_EQ(given.lines, (Lines{"long line", "b", "c"}));
}

TEST(LogLines, TakesTimesOfOtherZonesAndTheEndWithoutNewline) {
    Given given;
    given.whole("2026-01-02T03:04:05.1+01:00 a\n2026-01-02T03:04:05.1+01:00 b");
    given.log.reopen();  // b had not arrived whole
    given.whole("2026-01-02T03:04:05.1+01:00 a\n2026-01-02T03:04:05.1+01:00 b and more");
    EXPECT_EQ(given.lines, (Lines{"a"}));
    given.log.end();
    EXPECT_EQ(given.lines, (Lines{"a", "b and more"}));
}

TEST(LogLines, WhatHasNoTimeIsGivenAsItIs) {
    Given given;
    given.whole("failed to get the log\n2026-01-02 a\n\n2026-01-02T03:04:05x b\n");
    EXPECT_EQ(given.lines,
              (Lines{"failed to get the log", "2026-01-02 a", "", "2026-01-02T03:04:05x b"}));
    given.log.reopen();  // there is no time from which the log could go on
    EXPECT_EQ(given.log.since(), "");
}

}  // namespace
}  // namespace sinew::launch::kubernetes
