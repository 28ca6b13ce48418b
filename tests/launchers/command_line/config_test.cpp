// SPDX-License-Identifier: Apache-2.0
#include "launchers/command_line/config.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <sinew/error.hpp>

#include "launchers/command_line/parse.hpp"
#include "src/base/text.hpp"
#include "tests/support/refusal.hpp"

namespace sinew::launch {
namespace {

using testing_support::refusal;
using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::StartsWith;
using testing::UnorderedElementsAre;

/// A current folder and a home folder, both empty initially.
class Config : public testing::Test {
protected:
    Config() {
        ::umask(022);  // group-writable files are refused
        folder_ = testing::TempDir() + text("sinew-config-", ::getpid());
        std::filesystem::create_directories(folder_ + "/here");
        std::filesystem::create_directories(folder_ + "/home/.config/sinew");
        around_.folder = folder_ + "/here";
        around_.home = folder_ + "/home";
        around_.user = ::geteuid();
    }
    ~Config() override { std::filesystem::remove_all(folder_); }

    void here(std::string const& content, char const* name = ".sinewrc") {
        std::ofstream(around_.folder + "/" + name) << content;
    }
    void home(std::string const& content, char const* name = "config") {
        std::ofstream(around_.home + "/.config/sinew/" + name) << content;
    }
    RunOptions parse(std::vector<std::string> words) {
        words.push_back("program");
        return parse_run(words, around_);
    }
    std::string refused(std::vector<std::string> const& words = {}) {
        return refusal([&] { parse(words); });
    }

    std::string folder_;
    ProcessContext around_;
};

TEST_F(Config, TakesTheNearestSource) {
    EXPECT_EQ(parse({}).grace, 5s);
    home("grace = 1s\ntag-output = yes\n");
    EXPECT_EQ(parse({}).grace, 1s);
    here("grace = 2s\n");
    EXPECT_EQ(parse({}).grace, 2s);
    around_.variables["SINEW_RUN_GRACE"] = "3s";
    EXPECT_EQ(parse({}).grace, 3s);
    EXPECT_EQ(parse({"--grace", "4s"}).grace, 4s);
    EXPECT_TRUE(parse({}).tag_output);  // not set by any other source
    EXPECT_FALSE(parse({"--tag-output=no"}).tag_output);
    around_.variables["SINEW_RUN_GRACE"] = "";
    EXPECT_EQ(parse({}).grace, 2s);
    // The user's configuration folder may be elsewhere.
    around_.variables["XDG_CONFIG_HOME"] = folder_ + "/elsewhere";
    EXPECT_FALSE(parse({}).tag_output);
}

TEST_F(Config, TakesApartWhatStandsForSeveralSettingsBeforeItCompares) {
    home("map-by = node:OVERSUBSCRIBE\noutput = tag,dir=out\nquiet = yes\n");
    RunOptions options = parse({"--map-by", "slot", "-v"});
    EXPECT_EQ(options.map_by, MapBy::slot);
    EXPECT_EQ(options.oversubscribe, true);
    EXPECT_EQ(options.verbosity, 1);
    EXPECT_EQ(options.output_folder, around_.home + "/.config/sinew/out");
    EXPECT_EQ(parse({"--nooversubscribe"}).oversubscribe, false);
    EXPECT_EQ(parse({}).verbosity, -1);
    here("npernode = 2\n");
    EXPECT_EQ(parse({"--map-by", "ppr:3:node"}).per_node, 3);
    EXPECT_EQ(parse({}).per_node, 2);
}

TEST_F(Config, AddsUpVariables) {
    home("x = A=home\nx = B=home\nmca = btl self,tcp\n");
    home(around_.folder + "\n", "trusted");
    here("x = A=here\ngenv = C here\nenv-file = vars\n");
    here("# mine\nD=file\nA=file\n  MINE\n", "vars");
    around_.variables["MINE"] = "mine";
    EXPECT_THAT(parse({"-x", "D=flag"}).env,
                UnorderedElementsAre(Pair("A", "here"), Pair("B", "home"), Pair("C", "here"),
                                     Pair("D", "flag"), Pair("MINE", "mine"),
                                     Pair("OMPI_MCA_btl", "self,tcp")));
}

TEST_F(Config, TakesWhereToRunFromOneSource) {
    home("hostfile = hosts\n");
    home("a slots=2\nb slots=2\n", "hosts");
    EXPECT_THAT(parse({}).hosts, ElementsAre(HostRequest{"a", 2, 0}, HostRequest{"b", 2, 0}));
    here("host = c:3\n");
    EXPECT_THAT(parse({}).hosts, ElementsAre(HostRequest{"c", 3, 0}));
    EXPECT_THAT(parse({"--fake-nodes", "2"}).hosts, IsEmpty());
    EXPECT_THAT(parse({"-H", "z"}).hosts, ElementsAre(HostRequest{"z", 1, 0}));
    here("fake-nodes = 4\n");
    EXPECT_EQ(parse({"-H", "z"}).fake_nodes, 0);
    EXPECT_EQ(parse({}).fake_nodes, 4);
    EXPECT_THAT(parse({}).hosts, IsEmpty());
    // Together in one source, -H selects hosts of the file.
    std::string const file = around_.home + "/.config/sinew/hosts";
    EXPECT_THAT(parse({"--hostfile", file, "-H", "b"}).hosts, ElementsAre(HostRequest{"b", 2, 0}));
    EXPECT_THAT(refused({"--hostfile", file, "-H", "c"}),
                HasSubstr("-H c (c is not in the hostfile)"));
}

TEST_F(Config, GivesRanksToASingleProgramOnly) {
    here("np = 3\nwdir = sub\n");
    EXPECT_EQ(parse({}).apps[0].ranks, 3);
    EXPECT_EQ(parse({"-n", "2"}).apps[0].ranks, 2);
    EXPECT_EQ(parse({}).apps[0].folder, around_.folder + "/sub");
    EXPECT_EQ(parse({"--wdir", "~/d"}).apps[0].folder, around_.home + "/d");
    EXPECT_THAT(refused({"-n", "1", "p", ":"}), HasSubstr("program has no -n"));
    RunOptions const two = parse({"-n", "1", "p", ":", "-n", "2"});
    EXPECT_EQ(two.apps[1].ranks, 2);
    EXPECT_EQ(two.apps[1].folder, around_.folder + "/sub");
}

TEST_F(Config, ChecksWhatIsOverridden) {
    here("timeout = soon\n");
    EXPECT_THAT(refused({"--timeout", "5s"}),
                StartsWith(".sinewrc:1: timeout = soon (must be 0 or a time"));
    here("");
    around_.variables["SINEW_RUN_NP"] = "many";
    EXPECT_THAT(refused({"-n", "1"}), StartsWith("SINEW_RUN_NP=many (must be"));
}

TEST_F(Config, RefusesUnknownKeys) {
    here("\n# mine\ntag-outptu = yes\n");
    EXPECT_THAT(refused(), AllOf(StartsWith(".sinewrc:3: tag-outptu = yes"),
                                 HasSubstr("Did you mean tag-output?")));
    here("help = run\n");
    EXPECT_THAT(refused(), HasSubstr("unknown key help"));
    here("just words\n");
    EXPECT_THAT(refused(), HasSubstr("must be key = value"));
    here("");
    around_.variables["SINEW_RUN_TIMEOT"] = "3";
    EXPECT_THAT(refused(), HasSubstr("unknown variable SINEW_RUN_TIMEOT=3. Did you mean "
                                     "SINEW_RUN_TIMEOUT?"));
    around_.variables.clear();
    around_.variables["SINEW_TIMEOUT"] = "not ours";
    EXPECT_EQ(parse({}).timeout, std::nullopt);
}

TEST(ParseConfig, ReadsLines) {
    auto const settings = parse_config(
        "# all of it\n\n  np=4\r\nlaunch-agent = rsh -x {host}#1 # mine\nwdir =\n", "file");
    ASSERT_EQ(settings.size(), 3U);
    EXPECT_EQ(settings[0].key, "np");
    EXPECT_EQ(settings[0].value, "4");
    EXPECT_EQ(settings[0].origin, "file:3: np=4");
    EXPECT_EQ(settings[1].value, "rsh -x {host}#1");
    EXPECT_EQ(settings[2].value, "");
    EXPECT_THAT(parse_config("", "file"), IsEmpty());
}

TEST_F(Config, RefusesFilesThatOthersMayHaveWritten) {
    here("grace = 2s\n");
    std::string const file = around_.folder + "/.sinewrc";
    ASSERT_EQ(::chmod(file.c_str(), 0666), 0);
    EXPECT_THAT(refused(),
                AllOf(HasSubstr(".sinewrc can be written by everybody"), HasSubstr("chmod go-w")));
    ASSERT_EQ(::chmod(file.c_str(), 0664), 0);
    EXPECT_THAT(refused(),
                AllOf(HasSubstr(".sinewrc can be written by its group"), HasSubstr("chmod go-w")));
    ASSERT_EQ(::chmod(file.c_str(), 0600), 0);
    EXPECT_EQ(parse({}).grace, 2s);
    if (::geteuid() == 0)
        ASSERT_EQ(::chown(file.c_str(), 4711, 4711), 0);  // root's files are trusted
    else around_.user = 4711;
    EXPECT_THAT(refused(), HasSubstr(".sinewrc belongs to user"));
}

// A folder, including its .sinewrc, may come from another user.
TEST_F(Config, RunsNoCommandsThatCameWithAFolder) {
    for (std::string const line :
         {"launch-agent = evil {host}", "x = LD_PRELOAD=./evil.so", "x = LD_PRELOAD",
          "env = PATH .", "genv = PATH .", "env-file = vars", "mca = mca_base_component_path .",
          "pmixmca = mca_base_component_path ."}) {
        here("grace = 2s\n" + line + "\n");
        here("PATH=.\n", "vars");
        EXPECT_THAT(refused(), AllOf(StartsWith(".sinewrc:2: " + line), HasSubstr("trust"),
                                     HasSubstr(around_.folder)));
        home("elsewhere\n" + around_.folder + "/sub\n", "trusted");
        EXPECT_THAT(refused(), HasSubstr("trust"));
        home("elsewhere\n  " + around_.folder + "\n", "trusted");
        EXPECT_EQ(parse({}).grace, 2s);
        // They are also refused if another user can write the list of trusted folders.
        auto const list = around_.home + "/.config/sinew/trusted";
        ASSERT_EQ(::chmod(list.c_str(), 0666), 0);
        EXPECT_THAT(refused(), HasSubstr("trusted can be written by everybody"));
        std::filesystem::remove(list);
    }
    here("grace = 2s\nhost = c:3\n");
    EXPECT_EQ(parse({}).hosts.size(), 1U);
    around_.home.clear();
    here("launch-agent = evil\n");
    EXPECT_THAT(refused(), HasSubstr("~/.config/sinew/trusted"));
}

TEST_F(Config, DoesNotWaitForAPipe) {
    ASSERT_EQ(::mkfifo((around_.folder + "/.sinewrc").c_str(), 0600), 0);
    EXPECT_THAT(refused(), HasSubstr(".sinewrc (not a regular file)"));
}

}  // namespace
}  // namespace sinew::launch
