// SPDX-License-Identifier: Apache-2.0
//
// Real clients: MPICH programs started here with only PMI_FD, PMI_RANK and PMI_SIZE, on one node or
// on several nodes simulated on this host.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>

#include "launchers/pmi/pmi1.hpp"
#include "src/base/system/unique_fd.hpp"

extern char** environ;

namespace sinew::launch {
namespace {

using Clock = std::chrono::steady_clock;
using ::testing::Each;
using ::testing::SizeIs;

/// A job over several nodes, given by their numbers of ranks.
class MpichJob {
public:
    explicit MpichJob(std::vector<int> const& ranks_of_node, char const* extra = nullptr)
        : puts_(ranks_of_node.size()) {
        std::vector<int> node_of_rank;
        for (std::size_t node = 0; node < ranks_of_node.size(); ++node)
            node_of_rank.insert(node_of_rank.end(), static_cast<std::size_t>(ranks_of_node[node]),
                                static_cast<int>(node));
        size_ = static_cast<int>(node_of_rank.size());
        for (std::size_t node = 0; node < ranks_of_node.size(); ++node) {
            Pmi1Server::Job job;
            job.name = "kvs_test";
            job.size = job.universe = size_;
            for (int rank = 0; rank < size_; ++rank)
                if (node_of_rank[static_cast<std::size_t>(rank)] == static_cast<int>(node))
                    job.local_ranks.push_back(rank);
            job.process_mapping = process_mapping(node_of_rank);
            auto const first = job.local_ranks.front();
            servers_.push_back(
                std::make_unique<Pmi1Server>(std::move(job), hooks(static_cast<int>(node), first)));
        }
        int rank = 0;
        for (std::size_t node = 0; node < ranks_of_node.size(); ++node)
            for (int local = 0; local < ranks_of_node[node]; ++local, ++rank)
                start(rank, static_cast<int>(node), local, ranks_of_node[node], extra);
    }
    ~MpichJob() {
        for (auto const& rank : ranks_)
            if (rank.pid > 0) {
                ::kill(rank.pid, SIGKILL);
                ::waitpid(rank.pid, nullptr, 0);
            }
    }

    /// Serves until all clients have closed their sockets. Returns their wait statuses, or nothing
    /// after 50 s.
    std::vector<int> run() {
        auto const end = Clock::now() + std::chrono::seconds(50);
        while (serve_some() && Clock::now() < end) {}
        std::vector<int> statuses;
        for (auto& rank : ranks_) {
            int status = -1;
            while (::waitpid(rank.pid, &status, WNOHANG) == 0) {
                if (Clock::now() > end) return {};
                ::poll(nullptr, 0, 5);
            }
            rank.pid = 0;
            statuses.push_back(status);
        }
        return statuses;
    }
    int connected = 0, finalized = 0, aborted_with = -1, barriers = 0;

private:
    struct Rank {
        pid_t pid = 0;
        int node = 0, local = 0;
        UniqueFd socket;
    };

    Pmi1Server::Hooks hooks(int node, int first_rank) {
        Pmi1Server::Hooks hooks;
        hooks.reply = [this, first_rank](int local, std::string_view line) {
            auto const& socket = ranks_[static_cast<std::size_t>(first_rank + local)].socket;
            EXPECT_EQ(::send(socket.get(), line.data(), line.size(), MSG_NOSIGNAL),
                      static_cast<ssize_t>(line.size()));
        };
        hooks.barrier = [this, node](std::string puts) {
            puts_[static_cast<std::size_t>(node)] = std::move(puts);
            if (++in_barrier_ < servers_.size()) return;
            in_barrier_ = 0;
            ++barriers;
            for (auto& server : servers_) server->barrier_done(puts_);
        };
        hooks.abort = [this](int, int status, std::string const&) {
            aborted_with = status;
            for (auto const& rank : ranks_) ::kill(rank.pid, SIGKILL);
        };
        hooks.connected = [this](int) { ++connected; };
        hooks.finalized = [this](int) { ++finalized; };
        hooks.violation = [](int local, std::string const& why) { ADD_FAILURE() << local << why; };
        return hooks;
    }

    void start(int rank, int node, int local, int node_size, char const* extra) {
        int ends[2];
        ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        Rank mine{.pid = 0, .node = node, .local = local, .socket = UniqueFd(ends[0])};
        UniqueFd const theirs(ends[1]);
        std::vector<std::string> words{PMI1_HELLO, std::to_string(rank), std::to_string(size_),
                                       std::to_string(node_size)};
        if (extra != nullptr) words.emplace_back(extra);
        std::vector<std::string> env{"PMI_FD=" + std::to_string(theirs.get()),
                                     "PMI_RANK=" + std::to_string(rank),
                                     "PMI_SIZE=" + std::to_string(size_), "HWLOC_COMPONENTS=-gl",
                                     "UCX_TLS=tcp,self,sysv,posix"};
        for (char** each = environ; *each != nullptr; ++each)
            if (std::string_view(*each).substr(0, 3) != "PMI") env.emplace_back(*each);
        std::vector<char*> argv, envp;
        for (auto& word : words) argv.push_back(word.data());
        for (auto& word : env) envp.push_back(word.data());
        argv.push_back(nullptr);
        envp.push_back(nullptr);
        mine.pid = ::fork();
        ASSERT_GE(mine.pid, 0);
        if (mine.pid == 0) {
            ::fcntl(theirs.get(), F_SETFD, 0);
            ::execve(argv[0], argv.data(), envp.data());
            ::_exit(127);
        }
        ranks_.push_back(std::move(mine));
    }

    /// Returns false when all clients are gone.
    bool serve_some() {
        std::vector<pollfd> polled;
        std::vector<Rank*> by_poll;
        for (auto& rank : ranks_)
            if (rank.socket.get() >= 0) {
                polled.push_back({rank.socket.get(), POLLIN, 0});
                by_poll.push_back(&rank);
            }
        if (polled.empty()) return false;
        ::poll(polled.data(), polled.size(), 1000);
        for (std::size_t i = 0; i < polled.size(); ++i) {
            if (polled[i].revents == 0) continue;
            char buffer[512];
            ssize_t const count = ::recv(polled[i].fd, buffer, sizeof buffer, MSG_DONTWAIT);
            if (count > 0)
                servers_[static_cast<std::size_t>(by_poll[i]->node)]->receive(
                    by_poll[i]->local, {buffer, static_cast<std::size_t>(count)});
            else if (count == 0 || (errno != EAGAIN && errno != EINTR)) by_poll[i]->socket = {};
        }
        return true;
    }

    int size_ = 0;
    std::vector<Rank> ranks_;
    std::vector<std::unique_ptr<Pmi1Server>> servers_;
    std::vector<std::string> puts_;
    std::size_t in_barrier_ = 0;
};

struct Pmi1Mpich : ::testing::TestWithParam<std::vector<int>> {
    void SetUp() override {
        // 77 reports to ctest that the test was skipped.
        if (std::string_view(PMI1_HELLO).empty()) std::_Exit(77);
    }
};

TEST_P(Pmi1Mpich, RanksFindEachOtherAndTheirNodes) {
    MpichJob job(GetParam());
    auto const statuses = job.run();
    EXPECT_FALSE(statuses.empty()) << "not ended in time";
    EXPECT_THAT(statuses, Each(0));
    EXPECT_EQ(static_cast<std::size_t>(job.connected), statuses.size());
    EXPECT_EQ(static_cast<std::size_t>(job.finalized), statuses.size());
    EXPECT_GE(job.barriers, 1);
}
INSTANTIATE_TEST_SUITE_P(Layouts, Pmi1Mpich,
                         ::testing::Values(std::vector{1}, std::vector{4}, std::vector{2, 2},
                                           std::vector{3, 1, 2}));

TEST_F(Pmi1Mpich, AbortBringsItsCode) {
    MpichJob job({2}, "ABORT");
    auto const statuses = job.run();
    EXPECT_EQ(job.aborted_with, 42);
    EXPECT_THAT(statuses, SizeIs(2));
}

}  // namespace
}  // namespace sinew::launch
