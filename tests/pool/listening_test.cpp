// SPDX-License-Identifier: Apache-2.0
// Which sockets of a pool's processes can be reached.
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <set>
#include <sinew/pool.hpp>
#include <sinew/queue.hpp>
#include <sstream>

#include "src/base/system/unique_fd.hpp"
#include "src/base/text.hpp"
#include "src/process/runtime.hpp"
#include "tests/pool/pool_fixture.hpp"
#include "tests/wire/support.hpp"

namespace sinew::testing_support {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

using Listening = PoolTest;
using Inodes = std::set<std::string>;

/// The sockets that this process and its children have open.
Inodes sockets_of_all() {
    auto all = descendants_of(::getpid());
    all.push_back(process_info(::getpid()));
    Inodes found;
    for (auto const& each : all) {
        std::error_code gone;
        for (auto const& fd :
             std::filesystem::directory_iterator(text("/proc/", each.pid, "/fd"), gone)) {
            auto const what = std::filesystem::read_symlink(fd, gone).string();
            constexpr std::string_view socket = "socket:[";
            if (what.starts_with(socket))
                found.insert(what.substr(socket.size(), what.size() - socket.size() - 1));
        }
    }
    return found;
}

std::vector<std::vector<std::string>> rows(std::string const& table) {
    std::vector<std::vector<std::string>> all;
    std::istringstream lines(read_whole("/proc/self/net/" + table));
    for (std::string line; std::getline(lines, line);) {
        auto& row = all.emplace_back();
        std::istringstream words(line);
        for (std::string word; words >> word;) row.push_back(word);
    }
    return all;
}

/// Those of `ours` that accept connections from the network.
Inodes on_the_network(Inodes const& ours) {
    constexpr std::size_t state = 3, inode = 9;
    Inodes found;
    for (auto const* table : {"tcp", "tcp6", "udp", "udp6"})
        for (auto const& row : rows(table)) {
            bool const waits = row.size() > inode && (table[0] == 'u' || row[state] == "0A");
            if (waits && ours.contains(row[inode])) found.insert(row[inode]);
        }
    return found;
}

/// The listening Unix sockets of `ours`.
std::vector<std::string> paths(Inodes const& ours) {
    constexpr std::size_t flags = 3, inode = 6, path = 7;
    std::vector<std::string> found;
    for (auto const& row : rows("unix"))
        if (row.size() > inode && row[flags] == "00010000" && ours.contains(row[inode]))
            found.push_back(row.size() > path ? row[path] : "");
    return found;
}

/// A port of this process, to verify that the test finds it.
UniqueFd listen_on_loopback() {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&where), sizeof where), 0);
    EXPECT_EQ(::listen(fd.get(), 1), 0);
    return fd;
}

// G16 (Fiber): nothing of a pool, or of queues that its workers use, can be reached from other
// hosts or by other users.
TEST_F(Listening, IsWithinAPrivateFolderOnly) {
    Queue<int> queue;
    Pool pool(2, quiet());
    std::vector<std::tuple<Queue<int>, int>> const puts(10, {queue, 7});
    pool.starmap([](Queue<int> to, int x) { to.put(x); }, puts);
    for (int i = 0; i < 10; ++i) queue.get();
    auto const ours = sockets_of_all();
    EXPECT_THAT(on_the_network(ours), IsEmpty());
    auto const port = listen_on_loopback();
    EXPECT_THAT(on_the_network(sockets_of_all()), SizeIs(1));
    auto const reached = paths(ours);
    EXPECT_THAT(reached, testing::Not(IsEmpty())) << "that of this process";
    for (auto const& each : reached) {
        struct ::stat about {};
        ASSERT_EQ(::stat(std::filesystem::path(each).parent_path().c_str(), &about), 0) << each;
        EXPECT_EQ(about.st_mode & 0777, 0700U) << each;
        EXPECT_EQ(about.st_uid, ::geteuid()) << each;
    }
}

// G16 (Fiber): a client that connects nevertheless must know the secret.
TEST_F(Listening, RefusesWhoDoesNotKnowTheSecret) {
    std::string address;
    {
        auto& runtime = process::Runtime::instance();
        std::lock_guard const lock(runtime.guard());
        address = runtime.addresses().at(0);
    }
    wire::Loop loop;
    std::unique_ptr<wire::Dialled> result;
    auto const dialling = wire::dial(
        loop, wire::Address::parse(address), {wire::Secret::random(), {1, 0, 0, "stranger"}}, {},
        30s, [&](wire::Dialled outcome) {
            result = std::make_unique<wire::Dialled>(std::move(outcome));
        });
    ASSERT_TRUE(wire::test::run_until(loop, [&] { return result != nullptr; }));
    EXPECT_EQ(result->link, nullptr);
    EXPECT_THAT(result->error, HasSubstr("does not know this job's secret"));
}

}  // namespace
}  // namespace sinew::testing_support
