// SPDX-License-Identifier: Apache-2.0
//
// Unauthenticated connections to a job whose agents use TCP: the job must not be disturbed.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <optional>
#include <set>
#include <sstream>

#include "src/base/system/unique_fd.hpp"
#include "src/base/text.hpp"
#include "tests/launchers/run/launched.hpp"
#include "tests/launchers/run/programs.hpp"
#include "tests/launchers/run/programs/lines.hpp"
#include "tests/support/leak_check.hpp"
#include "tests/support/processes.hpp"

namespace sinew::testing_support {
namespace {

// The TCP ports on which the process listens.
std::set<int> ports_of(pid_t pid) {
    std::set<std::string> sockets;
    std::error_code none;
    for (std::filesystem::directory_iterator at(text("/proc/", pid, "/fd"), none), end;
         !none && at != end; at.increment(none)) {
        auto const target = std::filesystem::read_symlink(at->path(), none).string();
        if (target.starts_with("socket:[")) sockets.insert(target.substr(8, target.size() - 9));
    }
    std::set<int> ports;
    for (auto const* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
        std::istringstream lines(read_whole(table));
        std::string line, number, local, remote, state, queues, timer, retransmits, uid, timeout,
            inode;
        std::getline(lines, line);
        while (std::getline(lines, line)) {
            std::istringstream(line) >> number >> local >> remote >> state >> queues >> timer >>
                retransmits >> uid >> timeout >> inode;
            if (state == "0A" && sockets.contains(inode))
                ports.insert(std::stoi(local.substr(local.rfind(':') + 1), nullptr, 16));
        }
    }
    return ports;
}

UniqueFd connect_to(int port) {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return {};
    return fd;
}

class Strangers : public RunTest {
protected:
    void SetUp() override {
        ::signal(SIGPIPE, SIG_IGN);
        job.emplace(Words{"--max-restarts", "0", "-H", "localhost:2", "-n", "2", "sh", "-c",
                          "echo ready; read line; echo done $line"},
                    Launched::Setting{.env = {}, .input = Launched::Input::open, .given = {}});
        ASSERT_TRUE(job->says("ready", 2));
        auto const ports = ports_of(job->pid());
        ASSERT_EQ(ports.size(), 1U);
        port = *ports.begin();
    }
    // The job still responds and ends normally.
    void expect_undisturbed() {
        EXPECT_FALSE(job->ends_within(Seconds(0.2)));
        job->write_input("well\n");
        auto const ended = job->wait();
        EXPECT_EQ(ended.code, 0) << ended.err;
        EXPECT_EQ(count_of(ended.out, "done well"), 1U);
        EXPECT_EQ(count_of(ended.out, "done"), 2U);
    }
    std::optional<Launched> job;
    int port = 0;
};

TEST_F(Strangers, WhoSayAnythingAreSentAway) {
    auto const garbage = noise(1 << 20);
    std::vector<std::string> const words{
        garbage, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", std::string(100'000, '\0'),
        std::string(100'000, '\xff'), "SSH-2.0-OpenSSH_9.2\r\n",
        // An incomplete head of a TLS ClientHello; and one with a wrong length.
        std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11) + garbage.substr(0, 505),
        std::string("\x16\x03\x01\xff\xff", 5) + garbage.substr(0, 70'000)};
    for (int round = 0; round < 5; ++round)
        for (auto const& each : words) {
            auto const fd = connect_to(port);
            if (!fd) continue;  // too many connections for now
            timeval const patience{2, 0};
            ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
            [[maybe_unused]] auto const sent = ::send(fd.get(), each.data(), each.size(), 0);
        }
    expect_undisturbed();
}

TEST_F(Strangers, WhoSayNothingMayBeManyThousand) {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 8192);
    ::setrlimit(RLIMIT_NOFILE, &limit);
    std::vector<UniqueFd> idle;
    for (int i = 0; i < 1000; ++i) idle.push_back(connect_to(port));
    std::size_t const files = static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(text("/proc/", job->pid(), "/fd")),
                      std::filesystem::directory_iterator()));
    EXPECT_LT(files, 600U) << "those who have not shown who they are, are few at a time";
    EXPECT_LT(resident_size(job->pid()), memory_limit);
    expect_undisturbed();
}

// Also while agents are connecting: some connections wait, but the agents succeed.
TEST_F(Strangers, WhoComeBeforeTheAgentsDoNotKeepThemOut) {
    expect_undisturbed();
    Launched late({"--launch-agent", "sh -c 'sleep 1.5; exec \"$0\" \"$@\"'", "-H", "localhost:2",
                   "-n", "2", "echo", "came"});
    ASSERT_TRUE(eventually([&] { return !ports_of(late.pid()).empty(); }));
    int const door = *ports_of(late.pid()).begin();
    std::vector<UniqueFd> idle;
    for (int i = 0; i < 300; ++i) idle.push_back(connect_to(door));
    auto const ended = late.wait(Seconds(60));
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_EQ(count_of(ended.out, "came"), 2U);
}

// An agent with another secret is refused, and reported differently from a missing one.
TEST_F(Strangers, WithAnotherSecretAreRefused) {
    // The first digits of its secret are changed on the way.
    auto const agent =
        "sh -c 'read -r line; "
        "printf \"%s\\n\" \"$line\" | sed "
        "\"s/\\\"secret\\\":\\\"......../\\\"secret\\\":\\\"00000000/\" | "
        "\"$0\" \"$@\"'";
    auto const ended = run({"--start-timeout", "4s", "--launch-agent", agent, "-H", "localhost:2",
                            "-n", "1", "echo", "came"},
                           {}, Seconds(60));
    EXPECT_EQ(ended.code, 125) << ended.err;
    EXPECT_THAT(ended.err, testing::HasSubstr("does not know this job's secret"));
    EXPECT_EQ(ended.out, "");
    expect_undisturbed();
}

}  // namespace
}  // namespace sinew::testing_support
