// SPDX-License-Identifier: Apache-2.0
#include "launchers/control/output_log.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace sinew::launch {
namespace {

OutputRecord record(int rank, std::string bytes, bool starts_line = true) {
    return {.rank = rank,
            .node = "a",
            .stream = OutputStream::out,
            .time = {},
            .bytes = std::move(bytes),
            .starts_line = starts_line};
}

std::string all_of(OutputLog const& log, OutputLog::Reader& reader) {
    std::string all;
    while (auto const piece = log.read(reader)) all += piece->bytes.bytes;
    return all;
}

std::string tail_of(OutputLog& log, int count, std::optional<std::set<int>> ranks = {}) {
    OutputLog::Reader reader{.ranks = std::move(ranks)};
    log.open(reader, count);
    auto const all = all_of(log, reader);
    log.close(reader);
    return all;
}

TEST(OutputLog, GivesTheLastLinesOfTheRanksThatAreWanted) {
    OutputLog log(1 << 20);
    log.append(record(0, "one\ntwo\n"));
    log.append(record(1, "other\n"));
    log.append(record(0, "thr"));
    log.append(record(0, "ee\n", false));
    log.append(record(0, "four"));
    EXPECT_EQ(tail_of(log, 1), "four");
    EXPECT_EQ(tail_of(log, 2), "three\nfour");
    EXPECT_EQ(tail_of(log, 3), "other\nthree\nfour");
    EXPECT_EQ(tail_of(log, 4), "two\nother\nthree\nfour");
    EXPECT_EQ(tail_of(log, 3, std::set{0}), "two\nthree\nfour");
    EXPECT_EQ(tail_of(log, 100), "one\ntwo\nother\nthree\nfour");
    EXPECT_EQ(tail_of(log, 0), "");
}

TEST(OutputLog, KeepsNothingWithoutHistoryButServesItsReaders) {
    OutputLog log(0, 1 << 20);
    log.append(record(0, "before\n"));
    EXPECT_EQ(log.size(), 0u);
    OutputLog::Reader reader;
    log.open(reader, {});
    log.append(record(0, "after\n"));
    EXPECT_EQ(all_of(log, reader), "after\n");
    EXPECT_EQ(reader.missed, 0u);
    log.close(reader);
    EXPECT_EQ(log.size(), 0u);
}

TEST(OutputLog, TellsSlowReadersHowMuchTheyMissed) {
    std::mt19937 random(7);
    OutputLog log(2000, 5000);
    OutputLog::Reader slow, picky{.ranks = std::set{1}};
    log.open(slow, {});
    log.open(picky, {});
    std::size_t written = 0, of_one = 0, read = 0, picked = 0;
    for (int i = 0; i < 5000; ++i) {
        int const rank = static_cast<int>(random() % 3);
        auto const size = random() % 200 + 1;
        written += size;
        if (rank == 1) of_one += size;
        log.append(record(rank, std::string(size, 'x')));
        if (random() % 50 == 0) read += all_of(log, slow).size();
        if (random() % 90 == 0) picked += all_of(log, picky).size();
        EXPECT_LE(log.size(), 5000u);
    }
    read += all_of(log, slow).size();
    picked += all_of(log, picky).size();
    EXPECT_GT(slow.missed, 0u);
    EXPECT_EQ(read + slow.missed, written);
    EXPECT_EQ(picked + picky.missed, of_one);
    log.close(slow);
    log.close(picky);
    EXPECT_LE(log.size(), 2000u);
}

}  // namespace
}  // namespace sinew::launch
