// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <sinew/error.hpp>

#include "collectives/channel.hpp"
#include "src/base/text.hpp"
#include "src/node_memory/room.hpp"
#include "src/transport/thread_transport.hpp"

namespace sinew::testing {

/// Lets other threads run, and ends the wait if a rank has failed or after 20 s.
class TestWaitPolicy final : public collectives::WaitPolicy {
public:
    explicit TestWaitPolicy(std::atomic<bool> const& failed) : failed_(failed) {}

    int spins() const override { return 4; }
    void idle(int round, collectives::Channel const& channel) override {
        EXPECT_LE(channel.current_step(), channel.steps());
        auto const now = std::chrono::steady_clock::now();
        if (round == 0) deadline_ = now + std::chrono::seconds(20);
        if (failed_) throw PeerLost("another rank has failed");
        if (now > deadline_)
            throw Timeout(text("rank ", channel.rank(), " of ", channel.size(), " waits for rank ",
                               channel.waiting_for(), " in step ", channel.current_step(), " of ",
                               channel.steps()));
        std::this_thread::yield();
    }

private:
    std::atomic<bool> const& failed_;
    std::chrono::steady_clock::time_point deadline_;
};

/// Zeroed memory for a room of ranks that are threads.
inline std::shared_ptr<void> room_memory(int ranks, std::size_t ring) {
    constexpr std::size_t page = 4096;
    std::size_t const bytes = node_memory::Room::bytes(ranks, ring);
    std::shared_ptr<void> memory(std::aligned_alloc(page, (bytes + page - 1) / page * page),
                                 &std::free);
    std::memset(memory.get(), 0, bytes);
    return memory;
}

/// A ring so small that messages of some KiB need several rounds.
inline constexpr std::size_t room_ring = std::size_t{64} << 10;

/// Runs `body` with the parts of a channel on every rank, each in a separate thread. Rethrows the
/// exception of the first rank to fail; otherwise expects that no message is left.
inline void run_ranks_over(
    int ranks, std::function<void(Transport&, collectives::WaitPolicy&, int tag)> const& body) {
    constexpr int tag = 7;
    ThreadHub hub(ranks);
    std::atomic<bool> failed = false;
    std::exception_ptr first_failure;
    std::mutex mutex;
    auto const run = [&](int rank) {
        ThreadTransport transport(hub, rank);
        TestWaitPolicy supervisor(failed);
        try {
            body(transport, supervisor, tag);
        } catch (...) {
            std::lock_guard const lock(mutex);
            if (!failed.exchange(true)) first_failure = std::current_exception();
        }
    };
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank) threads.emplace_back(run, rank);
    for (std::thread& thread : threads) thread.join();
    if (first_failure) std::rethrow_exception(first_failure);
    for (int rank = 0; rank < ranks; ++rank)
        if (auto const left = ThreadTransport(hub, rank).probe(any_source, tag))
            ADD_FAILURE() << left->bytes << " bytes from rank " << left->source
                          << " were left over at rank " << rank;
}

/// Synthetic nodes of these ranks: from three ranks on several, not all with as many, some with their
/// ranks apart, some with one rank.
inline std::vector<int> nodes_of_ranks(int ranks) {
    static std::vector<std::vector<int>> const layouts{{0, 0, 1},
                                                       {0, 1, 0, 1},
                                                       {0, 0, 1, 1, 1},
                                                       {0, 0, 1, 1, 2, 2},
                                                       {0, 0, 1, 1, 1, 2, 0},
                                                       {0, 1, 2, 3, 0, 1, 2, 3},
                                                       {0, 1, 1, 1, 2, 2, 2, 3, 4}};
    if (ranks < 3) return std::vector<int>(static_cast<std::size_t>(ranks), 0);
    return layouts.at(static_cast<std::size_t>(ranks) - 3);
}

/// The same over one channel that has a room, and groups on synthetic nodes with rooms of their own.
inline void run_ranks(int ranks, std::function<void(collectives::Channel&)> const& body) {
    auto const memory = room_memory(ranks, room_ring);
    std::vector<int> const node_of = nodes_of_ranks(ranks);
    std::vector<std::shared_ptr<void>> memories;
    for (int node = 0; node <= *std::max_element(node_of.begin(), node_of.end()); ++node)
        memories.push_back(room_memory(
            static_cast<int>(std::count(node_of.begin(), node_of.end(), node)), room_ring));
    run_ranks_over(ranks, [&](Transport& transport, collectives::WaitPolicy& policy, int tag) {
        collectives::Channel channel(transport, policy, tag);
        node_memory::Room room(memory, channel.rank(), ranks, room_ring, nullptr);
        channel.use_room(&room);
        collectives::NodeGroups groups(node_of, channel.rank());
        std::optional<node_memory::Room> room_of_node;
        if (groups.local_size() > 1)
            room_of_node.emplace(memories[static_cast<std::size_t>(groups.node())],
                                 groups.local_rank(), groups.local_size(), room_ring, nullptr);
        constexpr std::size_t least_block = 1024;
        groups.use_room(room_of_node ? &*room_of_node : nullptr, least_block);
        channel.use_groups(&groups);
        body(channel);
    });
}

}  // namespace sinew::testing
