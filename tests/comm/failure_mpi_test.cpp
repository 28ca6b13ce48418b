// SPDX-License-Identifier: Apache-2.0
// Jobs of four processes in which rank 1 fails: every other rank must end by itself with an error
// that names rank 1. The launchers are told not to end the job.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::AnyOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::StartsWith;
namespace fs = std::filesystem;

constexpr int ranks = 4, at_fault = 1;
constexpr std::array others{0, 2, 3};
constexpr auto long_time = 45s;

std::string first_line(fs::path const& file) {
    std::string line;
    std::getline(std::ifstream(file), line);
    return line;
}

bool runs(pid_t pid) {
    std::string stat = first_line("/proc/" + std::to_string(pid) + "/stat");
    auto const name_end = stat.rfind(") ");
    return name_end != std::string::npos && stat[name_end + 2] != 'Z';
}

/// A job of four failing_rank processes under mpiexec, in a separate folder.
class Job {
public:
    Job(std::string const& scenario, std::vector<std::string> const& settings) {
        std::string pattern = (fs::temp_directory_path() / "sinew-failure-XXXXXX").string();
        folder_ = ::mkdtemp(pattern.data());
        std::vector<std::string> words = launcher();
        words.insert(words.end(), {FAILING_RANK, scenario, folder_.string()});
        start(words, settings);
    }
    Job(Job const&) = delete;
    ~Job() {
        if (!ended_) ::kill(-launcher_, SIGKILL);
        for (int rank = 0; rank < ranks; ++rank)
            if (pid_t const pid = process(rank); pid > 0 && runs(pid)) ::kill(pid, SIGKILL);
        if (!ended_) ::waitpid(launcher_, nullptr, 0);
        std::error_code ignored;
        fs::remove_all(folder_, ignored);
    }

    /// Waits for the files of the other ranks; returns false at a timeout.
    bool others_are_told() {
        return within_long_time([&] {
            return std::none_of(others.begin(), others.end(),
                                [&](int rank) { return told(rank).empty(); });
        });
    }
    bool others_have_ended() {
        return within_long_time([&] {
            return std::none_of(others.begin(), others.end(),
                                [&](int rank) { return status(rank).empty(); });
        });
    }
    bool launcher_has_ended() {
        return within_long_time(
            [&] { return ended_ = ended_ || ::waitpid(launcher_, nullptr, WNOHANG) > 0; });
    }
    std::string told(int rank) const { return first_line(file("told", rank)); }
    std::string status(int rank) const { return first_line(file("status", process(rank))); }
    pid_t process(int rank) const {
        std::string const line = first_line(file("pid", rank));
        return line.empty() ? 0 : std::stoi(line);
    }
    /// Processes, shared memory and folders that remain after the job.
    std::vector<std::string> left_behind() const {
        std::vector<std::string> left;
        for (int rank = 0; rank < ranks; ++rank) {
            if (runs(process(rank))) left.push_back("process of rank " + std::to_string(rank));
            std::ifstream names(file("shm", rank));
            for (std::string name; std::getline(names, name);)
                if (!name.empty() && fs::exists(name)) left.push_back(name);
        }
        for (auto const& entry : fs::directory_iterator(fs::temp_directory_path()))
            if (fs::path const session = entry.path() / ("pid." + std::to_string(launcher_));
                entry.path().filename().string().rfind("ompi.", 0) == 0 && fs::exists(session))
                left.push_back(session);
        return left;
    }
    std::string output() const {
        std::ostringstream all;
        all << std::ifstream(folder_ / "output").rdbuf();
        return all.str();
    }

private:
    static std::vector<std::string> launcher() {
        std::vector<std::string> words{MPIEXEC};
        std::istringstream flags(MPIEXEC_FLAGS);
        for (std::string flag; flags >> flag;) words.push_back(flag);
        if (std::string(SINEW_MPI_VENDOR) == "openmpi")
            words.insert(words.end(), {"--mca", "orte_enable_recovery", "1", "--mca",
                                       "orte_abort_on_non_zero_status", "0"});
        else words.push_back("-disable-auto-cleanup");
        words.insert(words.end(), {"-n", std::to_string(ranks)});
        return words;
    }

    void start(std::vector<std::string>& words, std::vector<std::string> const& settings) {
        launcher_ = ::fork();
        ASSERT_GE(launcher_, 0);
        if (launcher_ > 0) return;
        ::setpgid(0, 0);
        int const out = ::open((folder_ / "output").c_str(), O_WRONLY | O_CREAT, 0600);
        ::dup2(out, 1);
        ::dup2(out, 2);
        for (std::string const& setting : settings) ::putenv(const_cast<char*>(setting.c_str()));
        std::vector<char*> arguments;
        for (std::string& word : words) arguments.push_back(word.data());
        arguments.push_back(nullptr);
        ::execv(arguments[0], arguments.data());
        ::_exit(127);
    }

    template <class Condition>
    static bool within_long_time(Condition const& condition) {
        auto const end = std::chrono::steady_clock::now() + long_time;
        while (!condition()) {
            if (std::chrono::steady_clock::now() > end) return false;
            std::this_thread::sleep_for(5ms);
        }
        return true;
    }

    fs::path file(char const* what, int number) const {
        return folder_ / (std::string(what) + '.' + std::to_string(number));
    }

    fs::path folder_;
    pid_t launcher_ = -1;
    bool ended_ = false;
};

std::vector<std::string> const short_deadline{"SINEW_TIMEOUT=3s", "SINEW_LATE_TIMEOUT=3s",
                                              "SINEW_CALIBRATE=0"};
std::vector<std::string> const long_deadline{"SINEW_TIMEOUT=40s", "SINEW_CALIBRATE=0"};

class RankOne : public testing::Test {
protected:
    /// Runs the scenario; the error of every other rank must match.
    template <class Matcher>
    void expect_others_are_told(std::string const& scenario,
                                std::vector<std::string> const& settings, Matcher const& matcher) {
        Job job(scenario, settings);
        EXPECT_TRUE(job.others_are_told()) << job.output();
        for (int const rank : others) EXPECT_THAT(job.told(rank), matcher) << "rank " << rank;
        EXPECT_TRUE(job.others_have_ended()) << job.output();
        if (scenario == "stopped") ::kill(job.process(at_fault), SIGKILL);
        EXPECT_TRUE(job.launcher_has_ended()) << job.output();
        for (int const rank : others) EXPECT_THAT(job.status(rank), AnyOf("3", "4"));
        EXPECT_THAT(job.left_behind(), testing::IsEmpty());
    }
};

TEST_F(RankOne, WhenKilledIsNamedByAll) {
    expect_others_are_told("killed", long_deadline,
                           AllOf(StartsWith("PeerLost: rank "), HasSubstr("rank 1 on ")));
}

TEST_F(RankOne, WhenKilledWhileGroupsAreMadeIsNamedByAll) {
    for (int i = 0; i < 4; ++i)  // at different places
        expect_others_are_told("killed_in_split", long_deadline,
                               AllOf(StartsWith("PeerLost: rank "), HasSubstr("rank 1 on ")));
}

TEST_F(RankOne, WhenKilledBeforeTheWorldIsMadeEndsTheWaitOfTheOthers) {
    expect_others_are_told("killed_before", short_deadline,
                           AllOf(StartsWith("Timeout: rank "), HasSubstr("SINEW_TIMEOUT")));
}

TEST_F(RankOne, ThatExitsIsNamedByAll) {
    expect_others_are_told("exits", long_deadline,
                           AllOf(StartsWith("PeerLost: rank "), HasSubstr("rank 1 on ")));
}

TEST_F(RankOne, ThatExitsWithoutAnyDestructorIsNamedByAll) {
    expect_others_are_told("exits_at_once", long_deadline,
                           AllOf(StartsWith("PeerLost: rank "), HasSubstr("rank 1 on ")));
}

TEST_F(RankOne, ThatLeavesByAnExceptionSaysSo) {
    expect_others_are_told("throws", long_deadline,
                           AllOf(StartsWith("PeerLost: rank "), HasSubstr("rank 1 on "),
                                 HasSubstr("left the world because of an exception")));
}

TEST_F(RankOne, ThatNeverCallsIsNamedWithItsLastOperation) {
    expect_others_are_told(
        "sleeps", short_deadline,
        ContainsRegex(
            "not arrived: rank 1 on [^ ]+ \\(its last operation was allreduce #[0-9]+\\)"));
}

TEST_F(RankOne, ThatIsStoppedIsNamedByAll) {
    expect_others_are_told("stopped", short_deadline, HasSubstr("no answer from rank 1 on "));
}

}  // namespace
