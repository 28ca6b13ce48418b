// SPDX-License-Identifier: Apache-2.0
// Connections between ranks, and unauthenticated connections.
#include "src/world/socket_mesh.hpp"

#include <gmock/gmock.h>
#include <poll.h>
#include <sys/socket.h>

#include <thread>

#include "tests/support/socket_job.hpp"

namespace sinew {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing_support::SocketJob;

/// Runs all meshes until one has the expected event, or the outcome is certain.
class Meshes {
public:
    explicit Meshes(SocketJob& job, SocketMesh::Options options = {}) {
        for (int rank = 0; rank < job.world.size(); ++rank) add(job.mesh(rank, options));
    }
    Meshes() = default;
    void add(std::unique_ptr<SocketMesh> mesh) {
        all.push_back(std::move(mesh));
        events.emplace_back();
    }
    void run(std::function<bool()> const& done) {
        auto const give_up = std::chrono::steady_clock::now() + 30s;
        while (!done()) {
            for (std::size_t i = 0; i < all.size(); ++i)
                for (auto& event : all[i]->progress()) events[i].push_back(std::move(event));
            std::this_thread::sleep_for(1ms);
            if (std::chrono::steady_clock::now() > give_up) throw std::runtime_error("no end");
        }
    }
    void run_until_each_has(std::size_t count) {
        run([&] {
            for (auto const& list : events)
                if (list.size() < count) return false;
            return true;
        });
    }
    std::vector<std::unique_ptr<SocketMesh>> all;
    std::vector<std::vector<Connector::Event>> events;
};

/// An unauthenticated connection to a rank's listening address.
UniqueFd stranger(wire::Address const& address) {
    bool const local = address.family == wire::Address::Family::unix_socket;
    auto const where =
        local ? wire::unix_address(address.host) : wire::numeric_address(address).value();
    UniqueFd fd(::socket(where.get()->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::connect(fd.get(), where.get(), where.length) != 0) throw std::runtime_error("connect");
    return fd;
}

void expect_connected(Connector::Event const& a, Connector::Event const& b) {
    ASSERT_TRUE(a.fd && b.fd) << a.why << b.why;
    char out = 'x', in = 0;
    ASSERT_EQ(::send(a.fd.get(), &out, 1, 0), 1);
    pollfd wait{b.fd.get(), POLLIN, 0};
    ASSERT_EQ(::poll(&wait, 1, 10000), 1);
    ASSERT_EQ(::recv(b.fd.get(), &in, 1, 0), 1);
    EXPECT_EQ(in, 'x');
}

TEST(SocketMesh, ConnectsOnceWhoeverDials) {
    for (std::vector<int> const& nodes : {std::vector{0, 0}, std::vector{0, 1}})
        for (int const who : {0, 1, 2}) {  // 2: both at the same time
            SocketJob job(nodes);
            Meshes meshes(job);
            if (who != 1) meshes.all[0]->want(1);
            if (who != 0) meshes.all[1]->want(0);
            meshes.run_until_each_has(1);
            expect_connected(meshes.events[0][0], meshes.events[1][0]);
            for (int i = 0; i < 100; ++i) meshes.all[0]->want(1), meshes.all[1]->want(0);
            auto const later = std::chrono::steady_clock::now() + 200ms;
            meshes.run([&] { return std::chrono::steady_clock::now() > later; });
            EXPECT_EQ(meshes.events[0].size() + meshes.events[1].size(), 2U);
        }
}

TEST(SocketMesh, RefusesAnotherKey) {
    SocketJob job({0, 1});
    Meshes meshes;
    meshes.add(job.mesh(0));
    job.world.key = wire::Secret::random();
    meshes.add(job.mesh(1));
    meshes.all[0]->want(1);
    meshes.run([&] { return !meshes.events[0].empty(); });
    EXPECT_FALSE(meshes.events[0][0].fd);
    EXPECT_THAT(meshes.events[0][0].why, HasSubstr("does not know this job's key"));
    meshes.run([&] { return meshes.all[1]->refused() == 1; });
    EXPECT_TRUE(meshes.events[1].empty());
}

TEST(SocketMesh, RefusesAnotherEpoch) {
    SocketJob job({0, 0});
    Meshes meshes;
    meshes.add(job.mesh(0));
    job.world.epoch = 1;
    meshes.add(job.mesh(1));
    meshes.all[0]->want(1);
    meshes.run([&] { return meshes.all[1]->refused() >= 2; });  // it tries again
    EXPECT_TRUE(meshes.events[0].empty() && meshes.events[1].empty());
}

TEST(SocketMesh, IsNotDisturbedByGarbageAndSilence) {
    SocketJob job({0, 1});
    Meshes meshes(job, {.handshake = 3000ms, .connect = 30000ms, .max_unproven = 8});
    std::vector<UniqueFd> strangers;
    for (int i = 0; i < 10; ++i)
        for (auto const& address : {job.world.ranks[1].local, *job.world.ranks[1].remote}) {
            strangers.push_back(stranger(address));  // silent; more than are accepted at a time
            strangers.push_back(stranger(address));
            std::string const garbage(i % 2 ? 10000 : 56, 'g');
            ::send(strangers.back().get(), garbage.data(), garbage.size(), MSG_NOSIGNAL);
            strangers.push_back(stranger(address));
            ::shutdown(strangers.back().get(), SHUT_RDWR);
        }
    meshes.all[0]->want(1);
    meshes.run_until_each_has(1);
    expect_connected(meshes.events[0][0], meshes.events[1][0]);
    // In the end all of them are closed without further events.
    meshes.run([&] { return meshes.all[1]->refused() >= strangers.size(); });
    char byte = 0;
    for (auto const& fd : strangers) EXPECT_LE(::recv(fd.get(), &byte, 1, MSG_DONTWAIT), 0);
}

// Their hello is predictable; the proof that follows is not.
TEST(SocketMesh, IsNotHeldUpByThoseWhoNeverProveThemselves) {
    SocketJob job({0, 0});
    Meshes meshes(job, {.handshake = 3'600'000ms, .connect = 30000ms, .max_unproven = 8});
    std::vector<Handshake> held;
    for (int i = 0; i < 8; ++i) {
        held.emplace_back(Handshake::Self{wire::Secret::random(), 0, 2, job.world.epoch},
                          stranger(job.world.ranks[1].local), 1);
        EXPECT_TRUE(held.back().greet());
    }
    meshes.all[0]->want(1);
    meshes.run_until_each_has(1);
    expect_connected(meshes.events[0][0], meshes.events[1][0]);
}

TEST(SocketMesh, TriesAgainWhenItWasTooSlow) {
    SocketJob job({0, 0});
    Meshes meshes(job, {.handshake = 200ms, .connect = 30000ms, .max_unproven = 8});
    meshes.all[0]->want(1);
    auto const until = std::chrono::steady_clock::now() + 1s;
    while (std::chrono::steady_clock::now() < until) {  // rank 0 computes
        EXPECT_TRUE(meshes.all[1]->progress().empty());
        std::this_thread::sleep_for(10ms);
    }
    EXPECT_EQ(meshes.all[1]->refused(), 1U);
    meshes.run_until_each_has(1);
    expect_connected(meshes.events[0][0], meshes.events[1][0]);
}

TEST(SocketMesh, TellsThatNobodyIsThere) {
    SocketJob job({0, 0, 1});
    Meshes meshes;
    meshes.add(job.mesh(0));
    job.take_listeners(1).clear();
    job.take_listeners(2).clear();
    meshes.all[0]->want(1);
    meshes.all[0]->want(2);
    meshes.run_until_each_has(2);
    for (auto const& event : meshes.events[0]) {
        EXPECT_FALSE(event.fd);
        EXPECT_THAT(event.why, HasSubstr("Connection refused"));
        EXPECT_THAT(event.why, HasSubstr(event.peer == 1 ? "on node-0, unix:" : "on node-1, tcp:"));
    }
}

TEST(SocketMesh, RestsWhenThereIsNothingToDo) {
    SocketJob job({0, 0});
    Meshes meshes(job);
    meshes.all[0]->want(1);
    meshes.run_until_each_has(1);
    for (auto const& mesh : meshes.all) {
        mesh->progress();
        pollfd wait{mesh->descriptor(), POLLIN, 0};
        EXPECT_EQ(::poll(&wait, 1, 300), 0);
    }
}

}  // namespace
}  // namespace sinew
