// SPDX-License-Identifier: Apache-2.0
// What of the output of a server's jobs is on its dashboard.
#include "launchers/service/dashboard/recent_output.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temp_folder.hpp"

namespace sinew::launch::service {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class RecentOutputTest : public testing::Test {
protected:
    void write(std::string const& name, std::string const& bytes) const {
        std::ofstream(folder_.path() / name, std::ios::app | std::ios::binary) << bytes;
    }
    JobFiles files() const { return JobFiles(folder_.path().string()); }
    /// What an update shows.
    std::vector<std::string> update(bool is_watched = true) {
        auto const next = state_.view().next_line;
        output_.update(state_, is_watched, {});
        std::vector<std::string> lines;
        for (auto const& line : state_.lines_from(next)) {
            EXPECT_EQ(line.job, "train");
            lines.push_back((line.stream == 2 ? "error " : "") + line.text);
        }
        return lines;
    }
    testing_support::TempFolder folder_;
    dashboard::State state_;
    RecentOutput output_;
};

TEST_F(RecentOutputTest, ShowsWholeLinesOnceAndTheLastOneAtTheEnd) {
    output_.add(1, "train", files());
    EXPECT_THAT(update(), IsEmpty()) << "there are no files";
    write("out", "one\ntw");
    write("err", "bad\n");
    EXPECT_THAT(update(), ElementsAre("one", "error bad"));
    EXPECT_THAT(update(), IsEmpty());
    write("out", "o\n");
    EXPECT_THAT(update(), ElementsAre("two"));
    write("out", "last");
    EXPECT_THAT(update(), IsEmpty());
    output_.end(1);
    EXPECT_THAT(update(), ElementsAre("last"));
    write("out", "after\n");
    EXPECT_THAT(update(), IsEmpty()) << "it has ended";
}

TEST_F(RecentOutputTest, ReadsNothingWhileNobodyLooks) {
    output_.add(1, "train", files());
    write("out", "one\n");
    EXPECT_THAT(update(false), IsEmpty());
    EXPECT_THAT(update(true), ElementsAre("one"));
    output_.end(1);
    write("out", "two\n");
    EXPECT_THAT(update(false), IsEmpty());
    EXPECT_THAT(update(true), IsEmpty()) << "a job that ended unseen is forgotten";
}

TEST_F(RecentOutputTest, LeavesOutWhatIsWrittenTooFast) {
    output_.add(1, "train", files());
    write("out", "begin\n");
    EXPECT_THAT(update(), ElementsAre("begin"));
    std::string many;
    for (int i = 0; i < 100'000; ++i) many += "line " + std::to_string(i) + "\n";
    write("out", many);
    auto const lines = update();
    ASSERT_FALSE(lines.empty());
    EXPECT_LT(lines.size(), 3000U);
    EXPECT_EQ(lines.front().substr(0, 5), "line ") << "a part of a line is not shown";
    EXPECT_EQ(lines.back(), "line 99999");
    EXPECT_THAT(update(), IsEmpty());
}

TEST_F(RecentOutputTest, ShowsPartsOfALineWithoutEnd) {
    output_.add(1, "train", files());
    write("out", "a\n");
    EXPECT_THAT(update(), ElementsAre("a"));
    write("out", std::string(1 << 20, 'x'));
    EXPECT_THAT(update(), ElementsAre(std::string(dashboard::State::most_line, 'x')));
    write("out", "\nb\n");
    EXPECT_THAT(update(), ElementsAre("", "b"));
}

// A job may do with its own files what it likes.
TEST_F(RecentOutputTest, IsNotStoppedByPipesFoldersAndFilesThatShrink) {
    auto const out = (folder_.path() / "out").string();
    output_.add(1, "train", files());
    ASSERT_EQ(::mkfifo(out.c_str(), 0600), 0);
    EXPECT_THAT(update(), IsEmpty());
    std::filesystem::remove(out);
    std::filesystem::create_directory(out);
    EXPECT_THAT(update(), IsEmpty());
    std::filesystem::remove(out);
    write("out", "one\ntwo\n");
    EXPECT_THAT(update(), ElementsAre("one", "two"));
    std::filesystem::resize_file(out, 0);
    EXPECT_THAT(update(), IsEmpty());
    write("out", "three\n");
    EXPECT_THAT(update(), ElementsAre("three"));
}

}  // namespace
}  // namespace sinew::launch::service
