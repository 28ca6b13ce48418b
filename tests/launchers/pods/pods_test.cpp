// SPDX-License-Identifier: Apache-2.0
//
// Jobs whose agents come by themselves: `sinew agent --config` as process 1 of each pod. The pods
// of these tests share this host, and have an address of 127.0.0.0/8 each.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "src/base/text.hpp"
#include "src/ring/reserved_port.hpp"
#include "tests/launchers/run/launched.hpp"
#include "tests/launchers/run/programs.hpp"
#include "tests/support/processes.hpp"

namespace sinew::testing_support {
namespace {

using testing::HasSubstr;
using testing::Not;

/// A Secret as kubelet mounts it, and the pods that have it.
class Pods : public RunTest {
protected:
    Pods() {
        leaks.folders_may_stay();  // those of pods that are killed
        std::filesystem::create_directories(folder + "/..data_1");
        std::filesystem::create_symlink("..data_1", folder + "/..data");
        std::filesystem::create_symlink("..data/config", folder + "/config");
        std::filesystem::create_symlink("..data/nodes", folder + "/nodes");
    }
    ~Pods() override {
        pods.clear();
        std::filesystem::remove_all(folder);
    }

    void write(std::string const& name, std::string const& words) const {
        auto const path = folder + "/..data_1/" + name;
        std::ofstream(path + ".new") << words;
        ::chmod((path + ".new").c_str(), 0444);
        std::filesystem::rename(path + ".new", path);
    }
    /// The job's Secret. `arguments`: of sinew run.
    void submit(int nodes, Words const& arguments, int patience_ms = 8000) {
        nlohmann::json const config{{"job", job},
                                    {"secret", std::string(64, 'b')},
                                    {"nodes", nodes},
                                    {"port", port},
                                    {"discovery", "vip"},
                                    {"run", arguments},
                                    {"root_patience_ms", patience_ms}};
        write("config", config.dump() + "\n");
        write("nodes", text(nodes, "\n"));
    }
    void scale(int nodes) const { write("nodes", text(nodes, "\n")); }
    /// `before`: words of the command before those of sinew, which it executes.
    Launched& start(int index, std::map<std::string, std::string> const& more = {},
                    Words const& before = {}) {
        Launched::Setting setting;
        setting.env = {{"JOB_COMPLETION_INDEX", std::to_string(index)},
                       {"SINEW_ROOT", text("127.0.0.1:", port)},
                       {"SINEW_POD_NAME", text("train-", index, "-x", ++started, "z")},
                       {"SINEW_POD_IP", text("127.0.0.", 2 + index)},
                       {"SINEW_POD_NODE", text("machine-", index)},
                       {"SINEW_POD_TERMINATION_LOG", log_of(index)}};
        for (auto const& [name, value] : more) setting.env[name] = value;
        setting.command = {std::getenv("SINEW_TEST_COMMAND"), "agent", "--config",
                           folder + "/config"};
        setting.command.insert(setting.command.begin(), before.begin(), before.end());
        return *(pods[index] = std::make_unique<Launched>(Words{}, setting));
    }
    void start_all(int count) {
        for (int index = 0; index < count; ++index) start(index);
    }
    /// As a container is killed: all its processes at once.
    void kill(int index) {
        std::vector<ProcessInfo> all;
        for (int round = 0; round < 2; ++round) {
            all = processes_with("SINEW_TEST_MARK", pods.at(index)->mark());
            for (auto const& each : all) ::kill(each.pid, SIGSTOP);
        }
        for (auto const& each : all) ::kill(each.pid, SIGKILL);
        pods.at(index)->wait();
    }
    int code_of(int index) { return end_of(index).code; }
    Ended end_of(int index) { return pods.at(index)->wait(Seconds(30)); }
    std::string log_of(int index) const { return text(folder, "/log", index); }
    std::string log(int index) const { return read_whole(log_of(index)); }
    bool runs(int ranks, int restart = 0) {
        return pods.at(0)->says(text("run in ", restart, "\""), ranks);
    }
    /// Ranks that run until the job is started again so many times.
    static Words until(int restarts) {
        return {"sh", "-c",
                text("echo $SINEW_RANK of $SINEW_SIZE at $SINEW_NODE_NAME epoch $SINEW_EPOCH run "
                     "in $SINEW_RESTART; [ $SINEW_RESTART -ge ",
                     restarts, " ] || sleep 60")};
    }
    static Words with(Words flags, Words const& program) {
        flags.push_back("--");
        flags.insert(flags.end(), program.begin(), program.end());
        return flags;
    }

    std::string const job = text("t", ::getpid());
    std::string const folder =
        text(std::filesystem::temp_directory_path().string(), "/sinew-pods-", ::getpid());
    ring::ReservedPort const reserved;  // which no other program takes before the root listens
    int const port = reserved.number();
    int started = 0;
    std::map<int, std::unique_ptr<Launched>> pods;
};

// The signal is pending when sinew begins, and so arrives before the loop that handles it exists.
TEST_F(Pods, ThatAreAskedToEndAsTheyBeginLeaveInOrder) {
    submit(2, with({"-n", "2", "--max-restarts", "1"}, until(0)));
    Words const signalled{"/usr/bin/env", "--block-signal=TERM",          "sh",
                          "-c",           "kill -TERM $$ && exec \"$@\"", "sh"};
    for (int const index : {1, 0}) {
        start(index, {}, signalled);
        auto const end = end_of(index);
        EXPECT_EQ(end.code, 75) << end.err;
        EXPECT_THAT(end.err, Not(HasSubstr("was killed by signal")));
    }
}

TEST_F(Pods, MayComeInAnyOrderAndAreOrderedByPlace) {
    submit(4, with({"-n", "8", "--oversubscribe", "--report-map"},
                   {"sh", "-c", "echo $SINEW_RANK at $SINEW_NODE_NAME; env | sed 's/^/has /'"}));
    auto const place = [](char const* zone, char const* machine) {
        return std::map<std::string, std::string>{
            {"SINEW_PLACE_REGION", "eu"}, {"SINEW_PLACE_ZONE", zone}, {"SINEW_POD_NODE", machine}};
    };
    start(2, place("b", "m10"));
    start(1, place("a", "m1"));
    EXPECT_FALSE(pods.at(2)->ends_within(Seconds(0.5)));
    start(0, place("b", "m9"));
    start(3, place("b", "m9"));
    auto const root = end_of(0);
    EXPECT_EQ(root.code, 0) << root.err;
    for (int const index : {1, 2, 3}) EXPECT_EQ(code_of(index), 0);
    // From node 0 on around the ring: its machine, the rest of its zone, the other zone.
    for (auto const* line : {"0 at train-0", "1 at train-0", "2 at train-3", "4 at train-2",
                             "6 at train-1", "7 at train-1"})
        EXPECT_THAT(root.out, HasSubstr(line));
    EXPECT_THAT(root.err, HasSubstr("eu/b/-/- on m10"));
    EXPECT_EQ(log(0), "{\"exit_code\":0,\"cause\":\"\",\"restarts\":0}\n");
    for (auto const* name : {"has JOB_COMPLETION_INDEX", "has SINEW_POD_IP", "has SINEW_POD_NODE",
                             "has SINEW_ROOT", "has SINEW_PLACE", "bbbbbbbb"})
        EXPECT_THAT(root.out, Not(HasSubstr(name)));
    EXPECT_THAT(root.out, HasSubstr("has PATH="));
}

TEST_F(Pods, EndWithTheJobsExitCodeAndItsCause) {
    submit(2, with({"-n", "2"}, {"sh", "-c", "[ $SINEW_RANK = 0 ] && sleep 30; exit 3"}));
    start_all(2);
    EXPECT_EQ(code_of(0), 3);
    EXPECT_EQ(code_of(1), 0) << "the root has told it to end";
    EXPECT_THAT(log(0), HasSubstr("\"exit_code\":3,\"cause\":\"rank 1 on train-1 (pid "));
}

TEST_F(Pods, NeverEndAsIfTheyShouldBeReplacedWhenTheJobHasEnded) {
    submit(1, with({"-n", "1"}, {"sh", "-c", "exit 75"}));
    start(0);
    EXPECT_EQ(code_of(0), 1);
    EXPECT_THAT(log(0), HasSubstr("\"exit_code\":75"));
}

TEST_F(Pods, AnErrorInTheArgumentsIsInTheSummary) {
    submit(1, {"--no-such-flag", "x"});
    start(0);
    EXPECT_EQ(code_of(0), 2);
    EXPECT_THAT(log(0), HasSubstr("--no-such-flag"));
}

TEST_F(Pods, OneThatIsKilledIsReplaced) {
    submit(3, with({"-n", "3", "--max-restarts", "1"}, until(1)));
    start_all(3);
    ASSERT_TRUE(runs(3));
    kill(1);
    start(1);
    auto const root = end_of(0);
    EXPECT_EQ(root.code, 0) << root.err;
    EXPECT_EQ(count_of(root.out, "epoch 1 run in 1"), 3U);
    EXPECT_THAT(root.err, HasSubstr("0 of 1 of the budget used"));
    EXPECT_EQ(code_of(1), 0);
    EXPECT_EQ(code_of(2), 0);
}

TEST_F(Pods, WithoutRestartsTheLossOfOneEndsTheJob) {
    submit(2, with({"-n", "2"}, until(1)));
    start_all(2);
    ASSERT_TRUE(runs(2));
    kill(1);
    EXPECT_EQ(code_of(0), 125);
    EXPECT_THAT(log(0), HasSubstr("train-1: lost"));
}

// Its host is cut off: its connection stays, and a replacement comes.
TEST_F(Pods, OneThatIsCutOffIsReplacedAndRefusedWhenItReturns) {
    submit(2, with({"-n", "2", "--max-restarts", "1"},
                   {"sh", "-c", "echo run in $SINEW_RESTART; sleep 60"}));
    start_all(2);
    ASSERT_TRUE(runs(2));
    auto const old = std::move(pods.at(1));
    auto const processes = processes_with("SINEW_TEST_MARK", old->mark());
    for (auto const& each : processes) ::kill(each.pid, SIGSTOP);
    start(1);
    ASSERT_TRUE(runs(2, 1));
    for (auto const& each : processes) ::kill(each.pid, SIGCONT);
    auto const ended = old->wait(Seconds(15));
    EXPECT_EQ(ended.code, 75) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr("another agent has taken the place of this one"));
    EXPECT_FALSE(pods.at(0)->ends_within(Seconds(0.3))) << "the job is not disturbed";
    pods.at(0)->signal(SIGINT);
    EXPECT_EQ(code_of(0), 128 + SIGINT);
    EXPECT_EQ(code_of(1), 0);
}

TEST_F(Pods, TheRootMayBeReplaced) {
    submit(3, with({"-n", "3", "--max-restarts", "1"}, until(2)));
    start_all(3);
    ASSERT_TRUE(runs(3));
    kill(0);
    start(0);
    ASSERT_TRUE(runs(3, 1));
    EXPECT_EQ(count_of(pods.at(0)->out(), "epoch 1 run in 1"), 3U);
    pods.at(0)->signal(SIGTERM);
    auto const told = end_of(0);
    EXPECT_EQ(told.code, 75) << told.err;
    start(0);
    auto const root = end_of(0);
    EXPECT_EQ(root.code, 0) << root.err;
    EXPECT_EQ(count_of(root.out, "epoch 2 run in 2"), 3U);
    EXPECT_EQ(code_of(1), 0);
    EXPECT_EQ(code_of(2), 0);
    EXPECT_THAT(log(0), HasSubstr("\"restarts\":2"));
}

TEST_F(Pods, OneThatIsAskedToEndIsReplaced) {
    submit(2, with({"-n", "2", "--max-restarts", "1", "--grace", "1s"}, until(1)));
    start_all(2);
    ASSERT_TRUE(runs(2));
    pods.at(1)->signal(SIGTERM);
    EXPECT_EQ(code_of(1), 75);
    start(1);
    auto const root = end_of(0);
    EXPECT_EQ(root.code, 0) << root.err;
    EXPECT_THAT(root.err, HasSubstr("planned, 0 of 1 of the budget used"));
    EXPECT_EQ(code_of(1), 0);
}

TEST_F(Pods, WithoutRestartsTheRootThatIsAskedToEndEndsTheJob) {
    submit(2, with({"-n", "2", "--grace", "1s"}, until(1)));
    start_all(2);
    ASSERT_TRUE(runs(2));
    pods.at(0)->signal(SIGTERM);
    EXPECT_EQ(code_of(0), 1);
    EXPECT_THAT(log(0), HasSubstr("\"exit_code\":143"));
    EXPECT_EQ(code_of(1), 0);
}

TEST_F(Pods, GiveUpWithoutARoot) {
    submit(2, with({"-n", "2"}, until(0)), 1000);
    start(1);
    auto const never = end_of(1);
    EXPECT_EQ(never.code, 1);
    EXPECT_THAT(never.err, HasSubstr("cannot reach sinew run at tcp:127.0.0.1:"));
    submit(2, with({"-n", "2", "--max-restarts", "1"}, until(1)), 6000);
    start(0);
    start(1, {{"SINEW_ROOT", text("no-such-host.invalid:", port, ",127.0.0.1:", port)}});
    ASSERT_TRUE(runs(2)) << "by the second address";
    kill(0);
    EXPECT_EQ(code_of(1), 75);
}

TEST_F(Pods, ThoseThatAreAbsentAreNamed) {
    submit(3, with({"-n", "3", "--start-timeout", "5s"}, until(0)), 10000);
    start(2);
    start(0);
    EXPECT_EQ(code_of(0), 125);
    EXPECT_THAT(log(0), HasSubstr("no agent connected from train-1 within 5 s"));
    EXPECT_EQ(code_of(2), 0);
}

TEST_F(Pods, WithAnotherSecretAreRefusedAndDoNoHarm) {
    auto const others_ended = folder + "/others-ended";
    submit(
        1,
        with({"-n", "1", "--max-restarts", "1"}, {"sh", "-c",
                                                  text("echo run in 0; until [ -e ", others_ended,
                                                       " ]; do sleep 0.1; done; echo done")}),
        1000);
    start(0);
    ASSERT_TRUE(runs(1));
    auto const config = read_whole(folder + "/config");
    auto wrong = config;
    wrong.replace(wrong.find("bbbb"), 4, "cccc");
    write("config", wrong);
    start(1);
    auto const foreign = end_of(1);
    write("config", config);
    start(7);  // knows the secret, but is not expected
    EXPECT_EQ(foreign.code, 75);
    EXPECT_THAT(foreign.err, HasSubstr("does not know this job's secret"));
    EXPECT_THAT(end_of(7).err, HasSubstr("no node 7 is expected in this job"));
    std::ofstream(others_ended).flush();
    auto const root = end_of(0);
    EXPECT_EQ(root.code, 0) << root.err;
    EXPECT_THAT(root.out, HasSubstr("done"));
}

TEST_F(Pods, TheirNumberMayChange) {
    submit(2, with({"-n", "2", "--max-restarts", "1"}, until(2)));
    start_all(2);
    ASSERT_TRUE(runs(2));
    start(2);  // before the root knows
    scale(3);
    ASSERT_TRUE(runs(3, 1));
    EXPECT_EQ(count_of(pods.at(0)->out(), "of 3 at"), 3U);
    scale(1);
    auto const root = end_of(0);
    EXPECT_EQ(root.code, 0) << root.err;
    EXPECT_EQ(count_of(root.out, "0 of 1 at train-0 epoch 2 run in 2"), 1U);
    EXPECT_EQ(code_of(1), 0);
    EXPECT_EQ(code_of(2), 0);
}

TEST_F(Pods, RunMpiPrograms) {
    for (auto const& mpi : mpis()) {
        submit(2, with({"-n", "4", "--oversubscribe"}, {mpi.program, "layout"}));
        start_all(2);
        auto const root = end_of(0);
        EXPECT_EQ(root.code, 0) << mpi.name << root.out << root.err;
        EXPECT_EQ(code_of(1), 0);
    }
}

}  // namespace
}  // namespace sinew::testing_support
