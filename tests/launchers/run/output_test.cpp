// SPDX-License-Identifier: Apache-2.0
//
// Output of ranks: whole lines, complete, without delay, at the reader's pace.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "src/base/text.hpp"
#include "tests/launchers/run/launched.hpp"
#include "tests/launchers/run/programs.hpp"
#include "tests/launchers/run/programs/lines.hpp"
#include "tests/support/leak_check.hpp"
#include "tests/support/processes.hpp"

namespace sinew::testing_support {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

constexpr int ranks = 4, count = 2000;

class Output : public RunTest {};

// Each line must be the next one of its rank and stream.
class Expected {
public:
    explicit Expected(std::size_t longest) : longest_(longest) {}
    bool is_next(std::string const& line, char stream) {
        int const rank = line.empty() ? -1 : line[0] - '0';
        if (rank < 0 || rank >= ranks) return false;
        return line + "\n" == line_of(rank, stream, next_[{rank, stream}]++, longest_);
    }
    bool all_came() const {
        bool all = next_.size() == 2 * ranks;
        for (auto const& [who, number] : next_) all = all && number == count;
        return all;
    }

private:
    std::size_t longest_;
    std::map<std::pair<int, char>, int> next_;
};

// Lines of up to 64 KiB, the most that is held back until the end of a line.
void expect_whole_lines(Words const& flags, std::size_t read_per_second) {
    Words words = flags;
    words.insert(words.end(), {"-n", text(ranks), rank_program(), "lines", text(count), "60000"});
    Launched::Setting setting;
    setting.read_per_second = read_per_second;
    auto const ended = run(words, std::move(setting), Seconds(60));
    EXPECT_EQ(ended.code, 0);
    Expected expected(60'000);
    for (auto const& line : lines_of(ended.out))
        ASSERT_TRUE(expected.is_next(line, 'o')) << line.substr(0, 200);
    for (auto const& line : lines_of(ended.err))
        ASSERT_TRUE(expected.is_next(line, 'e')) << line.substr(0, 200);
    EXPECT_TRUE(expected.all_came());
}

TEST_F(Output, LinesAreNeverCutOrMixed) {
    expect_whole_lines({}, 0);
    expect_whole_lines({"--fake-nodes", "2"}, 0);
}

TEST_F(Output, LinesAreWholeForASlowReaderToo) { expect_whole_lines({}, 400'000); }

// Longer lines are printed in tagged parts, marked with '+'.
TEST_F(Output, TagsTellWhoseLineItIs) {
    auto const ended =
        run({"--tag-output", "-n", text(ranks), rank_program(), "lines", text(count), "70000"});
    EXPECT_EQ(ended.code, 0);
    Expected expected(70'000);
    for (char const stream : {'o', 'e'}) {
        std::map<int, std::string> last;
        auto const name = stream == 'o' ? "stdout" : "stderr";
        auto const check = [&](int rank) {
            auto const line = last.extract(rank);
            ASSERT_TRUE(!line || expected.is_next(line.mapped(), stream)) << rank;
        };
        for (auto const& line : lines_of(stream == 'o' ? ended.out : ended.err)) {
            auto const tag = text(line.at(1), "]<", name, ">");
            ASSERT_TRUE(line.substr(1).starts_with(tag)) << line.substr(0, 100);
            int const rank = line[1] - '0';
            bool const more = line[1 + tag.size()] == '+';
            auto const words = line.substr(1 + tag.size() + (more ? 3 : 2));
            if (!more) check(rank);
            last[rank] += words;
        }
        for (int rank = 0; rank < ranks; ++rank) check(rank);
    }
    EXPECT_TRUE(expected.all_came());
}

TEST_F(Output, PartOfALineIsShownSoon) {
    Launched job({"-n", "1", rank_program(), "prompt"});
    EXPECT_TRUE(job.says("your name? "));
    job.signal(SIGTERM);
    job.wait();
    Launched tagged({"-n", "2", "--tag-output", rank_program(), "prompt"});
    EXPECT_TRUE(tagged.says("[0]<stdout>: your name? "));
    EXPECT_TRUE(tagged.says("[1]<stdout>: your name? "));
    tagged.signal(SIGTERM);
    tagged.wait();
}

TEST_F(Output, MayCarryTheTime) {
    auto const ended = run({"--timestamp-output", "--tag-output", "-n", "1", "echo", "hello"});
    EXPECT_THAT(ended.out, MatchesRegex("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\\.[0-9]{3}Z "
                                        "\\[0\\]<stdout>: hello\n"));
}

TEST_F(Output, GoesToFilesToo) {
    auto const folder = testing::TempDir() + text("sinew-output-", ::getpid());
    auto const script = "echo out $SINEW_RANK; echo err $SINEW_RANK >&2";
    auto const ended = run({"--output-filename", folder, "-n", "2", "sh", "-c", script});
    for (int rank = 0; rank < 2; ++rank) {
        EXPECT_EQ(read_whole(text(folder, "/rank.", rank, ".stdout")), text("out ", rank, "\n"));
        EXPECT_EQ(read_whole(text(folder, "/rank.", rank, ".stderr")), text("err ", rank, "\n"));
    }
    EXPECT_EQ(count_of(ended.out, "out "), 2U);
    std::filesystem::remove_all(folder);
}

TEST_F(Output, IsValidJson) {
    auto const script = "echo hello $SINEW_RANK; printf 'bad \\377 byte\\n' >&2; printf open";
    auto const ended =
        run({"--output", "json", "--fake-nodes", "2", "-n", "2", "sh", "-c", script});
    std::map<std::string, int> seen;
    for (auto const& line : lines_of(ended.out)) {
        auto const object = nlohmann::json::parse(line);
        ASSERT_TRUE(object.is_object()) << line;
        if (object.contains("text") && object.contains("stream"))
            ++seen[object["stream"].get<std::string>() + ":" + object["text"].get<std::string>()];
    }
    EXPECT_EQ(seen["stdout:hello 0"], 1);
    EXPECT_EQ(seen["stdout:hello 1"], 1);
    EXPECT_EQ(seen["stdout:open"], 2);
    EXPECT_EQ(ended.err, "");
}

TEST_F(Output, OfOneRankPassesAsItIs) {
    constexpr std::size_t size = 3'000'000;
    auto const ended = run({"-n", "1", rank_program(), "bytes", text(size)});
    EXPECT_TRUE(ended.out == noise(size)) << ended.out.size();
    EXPECT_EQ(ended.code, 0);
}

TEST_F(Output, WaitsForASlowReader) {
    // 64 MiB are to be written, of which little is read in these seconds.
    Launched job({"-n", "2", rank_program(), "flood", "32"}, {.env = {},
                                                              .input = Launched::Input::none,
                                                              .given = {},
                                                              .read_per_second = 1 << 20,
                                                              .read = [](std::string_view) {}});
    std::size_t most = 0;
    for (int look = 0; look < 30; ++look) {
        std::size_t all = resident_size(job.pid());
        for (auto const& agent : job.agents(1))
            all += resident_size(agent.init_process) + resident_size(agent.worker);
        most = std::max(most, all);
        ::usleep(100'000);
    }
    EXPECT_LT(most, memory_limit) << "what is not read yet is with the ranks";
    EXPECT_GT(job.rank(0), 0) << "they wait, too";
    job.signal(SIGINT);
    job.signal(SIGINT);
    job.wait();
}

TEST_F(Output, OfAReaderThatGoesEndsTheJob) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    Launched job({"-n", "2", rank_program(), "flood", "1000"}, {.env = {},
                                                                .input = Launched::Input::none,
                                                                .given = {},
                                                                .read_per_second = 0,
                                                                .read = {},
                                                                .out = ends[1]});
    ::close(ends[1]);
    char first = 0;
    EXPECT_EQ(::read(ends[0], &first, 1), 1);
    ::close(ends[0]);
    auto const ended = job.wait();
    EXPECT_EQ(ended.code, 128 + SIGPIPE);
    EXPECT_EQ(ended.err, "") << "as quiet as any program before | head";
}

TEST_F(Output, ThatNobodyReadsDoesNotOutliveTheTimeout) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    Launched job({"--timeout", "1s", "--grace", "1s", "-n", "2", rank_program(), "flood", "1000"},
                 {.env = {},
                  .input = Launched::Input::none,
                  .given = {},
                  .read_per_second = 0,
                  .read = {},
                  .out = ends[1]});
    ::close(ends[1]);
    auto const ended = job.wait();
    ::close(ends[0]);
    EXPECT_EQ(ended.code, 124);
    EXPECT_THAT(ended.err, HasSubstr("not finished within 1 s"));
    EXPECT_THAT(ended.err, HasSubstr("output is lost"));
}

TEST_F(Output, ThatCannotBeWrittenIsAFailure) {
    int const full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
    Launched job({"-n", "1", "echo", "hello"}, {.env = {},
                                                .input = Launched::Input::none,
                                                .given = {},
                                                .read_per_second = 0,
                                                .read = {},
                                                .out = full});
    auto const ended = job.wait();
    ::close(full);
    EXPECT_EQ(ended.code, 125);
    EXPECT_THAT(ended.err, HasSubstr("No space left"));
}

TEST_F(Output, ThatComesLastIsNotLost) {
    // The rank ends long before its last lines are read.
    auto const ended =
        run({"-n", "1", rank_program(), "flood", "4"},
            {.env = {}, .input = Launched::Input::none, .given = {}, .read_per_second = 2 << 20});
    EXPECT_GE(ended.out.size(), std::size_t{4} << 20);
    EXPECT_TRUE(ended.out.ends_with('\n'));
}

}  // namespace
}  // namespace sinew::testing_support
