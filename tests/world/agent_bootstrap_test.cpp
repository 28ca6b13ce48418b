// SPDX-License-Identifier: Apache-2.0
// Acts as the agent: real processes with the sockets, file and environment that `sinew run`
// provides.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "tests/support/child.hpp"
#include "tests/support/socket_job.hpp"

namespace sinew {
namespace {

using testing::HasSubstr;
using testing_support::Child;
using testing_support::SocketJob;
using Words = std::vector<std::string>;
using Variables = std::map<std::string, std::string>;

/// Forks and runs WORLD_RANKS with `words`; its output goes to `log`.
Child start(std::string const& log, Words const& words, Variables const& variables,
            std::vector<UniqueFd> const& listeners) {
    return Child([&] {
        // The test itself may run under a launcher.
        for (char const* name : {"OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_FD", "PMIX_RANK",
                                 "SINEW_WORLD_FILE", "SINEW_SIZE", "SINEW_TRANSPORT"})
            ::unsetenv(name);
        for (auto const& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
        int const out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        ::dup2(out, STDERR_FILENO);  // before `out` may be overwritten, too
        // Avoids the descriptor numbers that they must get.
        std::vector<int> moved;
        for (auto const& fd : listeners) moved.push_back(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 20));
        for (std::size_t i = 0; i < moved.size(); ++i) ::dup2(moved[i], static_cast<int>(10 + i));
        std::vector<char*> arguments{const_cast<char*>(WORLD_RANKS)};
        for (auto const& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
        arguments.push_back(nullptr);
        ::execv(WORLD_RANKS, arguments.data());
        return 127;
    });
}

std::string contents(std::string const& path) {
    std::ostringstream out;
    out << std::ifstream(path).rdbuf();
    return out.str();
}

class Agent {
public:
    explicit Agent(std::vector<int> const& node_of_rank) : job(node_of_rank) {
        job.world.write(file());
    }
    std::string file() const { return job.folder / "world"; }
    std::string log(int rank) const { return job.folder / ("log-" + std::to_string(rank)); }

    Variables variables(int rank) const {
        auto const& place = job.world.ranks[static_cast<std::size_t>(rank)];
        auto const node = static_cast<std::size_t>(place.node);
        return {{"SINEW_RANK", std::to_string(rank)},
                {"SINEW_SIZE", std::to_string(job.world.size())},
                {"SINEW_NODES", std::to_string(job.world.nodes.size())},
                {"SINEW_NODE_NAME", job.world.nodes[node]},
                {"SINEW_WORLD_FILE", file()},
                {"SINEW_LISTEN_FDS", "10,11"},
                {"SINEW_TIMEOUT", "40s"}};
    }
    void start_rank(int rank, Words const& words, Variables const& more = {}) {
        auto all = more;
        all.merge(variables(rank));
        auto const listeners = job.take_listeners(rank);  // now owned by the rank alone
        ranks.push_back(start(log(rank), words, all, listeners));
    }
    void start_all(Words const& words, Variables const& more = {}) {
        for (int rank = 0; rank < job.world.size(); ++rank) start_rank(rank, words, more);
    }
    void expect_success() {
        for (std::size_t rank = 0; rank < ranks.size(); ++rank)
            EXPECT_EQ(ranks[rank].wait(), 0) << contents(log(static_cast<int>(rank)));
    }

    SocketJob job;
    std::vector<Child> ranks;
};

class AgentBootstrap : public testing::TestWithParam<std::vector<int>> {};

TEST_P(AgentBootstrap, GivesAWorldThatWorks) {
    Agent agent(GetParam());
    agent.start_all({"work", "agent"});
    agent.expect_success();
}

INSTANTIATE_TEST_SUITE_P(Shapes, AgentBootstrap,
                         testing::Values(std::vector{0}, std::vector{0, 0}, std::vector{0, 1},
                                         std::vector{0, 0, 1, 1}, std::vector{0, 1, 2, 0}),
                         [](auto const& shape) {
                             std::string name = "nodes";
                             for (int const node : shape.param) name += std::to_string(node);
                             return name;
                         });

TEST(AgentBootstrapLoss, NamesARankThatIsKilled) {
    for (char const* when : {"before", "in"}) {
        Agent agent({0, 0, 1});
        agent.start_all({"die", when, "2"});
        for (std::size_t rank : {0u, 1u}) {
            auto const log = agent.log(static_cast<int>(rank));
            EXPECT_EQ(agent.ranks[rank].wait(), 0) << when << ": " << contents(log);
            // The rank that notices first informs the other one.
            EXPECT_THAT(contents(log), HasSubstr("rank 2 on ")) << when;
            EXPECT_THAT(contents(log), HasSubstr("has died")) << when;
        }
        EXPECT_TRUE(WIFSIGNALED(agent.ranks[2].wait()));
    }
}

/// The output of one rank of two that cannot join.
std::string complaint(Agent& agent, Variables const& more) {
    agent.ranks.clear();
    agent.start_rank(0, {"join"}, more);
    int const status = agent.ranks.back().wait();
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1) << status;
    return contents(agent.log(0));
}

TEST(AgentBootstrapErrors, SaysWhatIsWrongWithTheWorldFile) {
    Agent agent({0, 0});
    EXPECT_THAT(complaint(agent, {{"SINEW_WORLD_FILE", "/nonexistent/world"}}),
                HasSubstr("cannot open the world file /nonexistent/world"));
    ASSERT_EQ(::chmod(agent.file().c_str(), 0644), 0);
    EXPECT_THAT(complaint(agent, {}), HasSubstr("others may read or write it"));
    ASSERT_EQ(::chmod(agent.file().c_str(), 0600), 0);
    EXPECT_THAT(complaint(agent, {{"SINEW_SIZE", "3"}}), HasSubstr("SINEW_SIZE=3, but the world"));
    EXPECT_THAT(complaint(agent, {{"SINEW_RANK", "2"}}), HasSubstr("SINEW_RANK=2"));
    std::ofstream(agent.file(), std::ios::trunc) << "sinew-world 1\njob x\nepoch one\n";
    EXPECT_THAT(complaint(agent, {}), HasSubstr("line 3 has 'one'"));
}

TEST(AgentBootstrapErrors, SaysWhatIsWrongWithTheSockets) {
    Agent agent({0, 0});
    EXPECT_THAT(complaint(agent, {{"SINEW_LISTEN_FDS", "0"}}),
                HasSubstr("descriptor 0 of SINEW_LISTEN_FDS is not a socket"));
    EXPECT_THAT(complaint(agent, {{"SINEW_LISTEN_FDS", "5;6"}}), HasSubstr("SINEW_LISTEN_FDS=5;6"));
}

TEST(AgentBootstrapErrors, NeverGoesOnAlone) {
    Agent agent({0, 0});
    EXPECT_THAT(complaint(agent, {{"SINEW_WORLD_FILE", ""}}), HasSubstr("SINEW_SIZE=2 says"));
    EXPECT_THAT(complaint(agent, {{"SINEW_TRANSPORT", "pigeon"}}),
                HasSubstr("SINEW_TRANSPORT=pigeon (must be socket or mpi)"));
    EXPECT_THAT(complaint(agent, {{"SINEW_TRANSPORT", "mpi"}}), HasSubstr("has no MPI"));
}

}  // namespace
}  // namespace sinew
