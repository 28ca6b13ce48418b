// SPDX-License-Identifier: Apache-2.0
// The table of flags, the help, the man page and the completion must agree.
#include "launchers/command_line/help.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include <sinew/error.hpp>

#include "launchers/cli/run_main.hpp"
#include "launchers/command_line/flags.hpp"
#include "launchers/command_line/parse.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

using testing::Contains;
using testing::HasSubstr;

std::vector<std::string> lines_of(std::string const& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

std::string read(char const* path) {
    std::ifstream file(std::string(SINEW_SOURCE_FOLDER) + "/" + path);
    EXPECT_TRUE(file) << path;
    return {std::istreambuf_iterator<char>(file), {}};
}

std::string replaced(std::string text, std::string const& what, std::string const& by) {
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
        text.replace(at, what.size(), by);
    return text;
}

/// "-n, -np, --np COUNT"
std::string headline(Flag const& flag) {
    std::string line;
    for (std::string_view const spelling : spellings(flag))
        line += (line.empty() ? "" : ", ") + std::string(spelling);
    return flag.value.empty() ? line : line + " " + std::string(flag.value);
}

TEST(Help, FitsTheTerminal) {
    std::string all = help_text("");
    for (HelpTopic const& topic : help_topics()) {
        all += help_text(topic.name);
        EXPECT_THAT(help_text(""), HasSubstr(text("  ", topic.name, " ")));
        EXPECT_THAT(help_text("run"), HasSubstr(text("  ", topic.name, " ")));
    }
    for (std::string const& line : lines_of(all)) EXPECT_LT(line.size(), 80U) << line;
}

TEST(Help, ShowsEachFlagUnderItsTopic) {
    for (Flag const& flag : all_flags())
        for (std::string_view const spelling : spellings(flag))
            EXPECT_THAT(help_text(flag.topic), HasSubstr(text(" ", spelling)));
}

TEST(Help, NamesTheTopicsForAnUnknownOne) {
    try {
        help_text("hsots");
        FAIL();
    } catch (UsageError const& error) {
        EXPECT_THAT(error.what(), HasSubstr("no help on hsots"));
        EXPECT_THAT(error.what(), HasSubstr("Did you mean hosts?"));
        EXPECT_THAT(error.what(), HasSubstr("environment"));
    }
}

/// Splits a line as a shell does: at blanks, with single quotes, until a comment or an explanation.
std::vector<std::string> shell_words(std::string line) {
    line.resize(std::min(line.find("  "), line.size()));
    std::vector<std::string> words{""};
    bool quoted = false;
    for (char const c : line) {
        if (c == '\'') quoted = !quoted;
        else if (c == ' ' && !quoted) words.emplace_back();
        else words.back() += c;
    }
    return words;
}

TEST(Help, HasExamplesThatAreUnderstood) {
    ProcessContext around;
    around.folder = testing::TempDir() + text("sinew-help-", ::getpid());
    std::filesystem::create_directories(around.folder);
    std::ofstream(around.folder + "/hosts") << "node1 slots=4\n";
    std::ofstream(around.folder + "/job.env") << "A=1\n";
    int examples = 0;
    for (HelpTopic const& topic : help_topics())
        for (std::string const& line : lines_of(std::string(topic.text))) {
            std::size_t const at = line.find("  sinew run -");
            if (at != 0 || line.find("...") != std::string::npos) continue;
            auto words = shell_words(line.substr(2));
            words.erase(words.begin(), words.begin() + 2);
            words.resize(std::find(words.begin(), words.end(), "<") - words.begin());
            EXPECT_NO_THROW(parse_run(words, around)) << line;
            ++examples;
        }
    EXPECT_GT(examples, 30);
    std::filesystem::remove_all(around.folder);
}

TEST(ManPage, HasEachFlagWithItsHelp) {
    std::string page = read("docs/sinew.1");
    for (char const* font : {"\\fB", "\\fI", "\\fR"}) page = replaced(page, font, "");
    page = replaced(replaced(page, "\\-", "-"), "\\(aq", "'");
    auto const lines = lines_of(page);
    std::size_t documented = 0;
    for (std::size_t i = 0; i + 2 < lines.size(); ++i)
        documented += lines[i] == ".TP" && lines[i + 1].front() == '-' ? 1 : 0;
    EXPECT_EQ(documented, all_flags().size());  // no unknown flags
    for (Flag const& flag : all_flags()) {
        std::string help = std::string(flag.help) + ".";
        if (help.front() >= 'a' && help.front() <= 'z') help.front() -= 'a' - 'A';
        EXPECT_THAT(page, HasSubstr(".TP\n" + headline(flag) + "\n" + help + "\n")) << flag.key;
    }
    for (HelpTopic const& topic : help_topics())
        EXPECT_THAT(page, HasSubstr(std::string(topic.name)));
}

/// The commands that the message on an unknown one names; agents are started by sinew alone.
std::vector<std::string> commands() {
    try {
        help_main("nonesuch", {});
    } catch (UsageError const& error) {
        std::string const words = error.what(), before = "(there are: ";
        auto const begin = words.find(before) + before.size();
        std::istringstream in(words.substr(begin, words.find(')', begin) - begin));
        std::vector<std::string> found;
        for (std::string command; std::getline(in, command, ',');) {
            command.erase(0, command.find_first_not_of(' '));
            if (command != "agent") found.push_back(command);
        }
        return found;
    }
    return {};
}

TEST(ManPage, HasEachCommand) {
    auto const page = read("docs/sinew.1");
    ASSERT_THAT(commands(), Contains("forward"));
    for (auto const& command : commands())
        EXPECT_THAT(page, HasSubstr(text("\n\\fBsinew ", command, "\\fR"))) << command;
}

TEST(Completion, KnowsEachCommand) {
    auto const script = read("launchers/completion/sinew.bash");
    auto const begin = script.find("compgen -W \"run ps");
    ASSERT_NE(begin, script.npos);
    auto const offers =
        text(" ", script.substr(begin + 12, script.find('"', begin + 12) - begin - 12), " ");
    ASSERT_THAT(commands(), Contains("forward"));
    for (auto const& command : commands())
        EXPECT_THAT(offers, HasSubstr(text(" ", command, " "))) << command;
}

/// The words of _sinew_<name>="..." in the completion script.
std::vector<std::string> list_of(std::string const& script, char const* name) {
    std::size_t const begin = script.find(text("_sinew_", name, "=\"")) + 1;
    EXPECT_NE(begin, 0U) << name;
    std::size_t const from = script.find('"', begin) + 1;
    std::istringstream in(script.substr(from, script.find('"', from) - from));
    return {std::istream_iterator<std::string>(in), {}};
}

TEST(Completion, KnowsEachFlagAndWhetherItTakesAValue) {
    std::string const script = read("launchers/completion/sinew.bash");
    auto const switches = list_of(script, "switches"), one = list_of(script, "with_value"),
               two = list_of(script, "with_two");
    std::size_t count = 0;
    for (Flag const& flag : all_flags())
        for (std::string_view const spelling : spellings(flag)) {
            bool const with_one = flag.takes == Flag::Takes::value;
            bool const with_two = flag.takes == Flag::Takes::two_values;
            EXPECT_THAT(with_one   ? one
                        : with_two ? two
                                   : switches,
                        Contains(std::string(spelling)));
            ++count;
        }
    EXPECT_EQ(switches.size() + one.size() + two.size(), count);
    for (HelpTopic const& topic : help_topics())
        EXPECT_THAT(script, HasSubstr(std::string(topic.name)));
}

}  // namespace
}  // namespace sinew::launch
