// SPDX-License-Identifier: Apache-2.0
// The queue of longer non-blocking calls with threads as ranks, so that the sanitizers see it. No MPI is
// called.
#include "src/pmpi/requests/background_queue.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <new>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

#include "collectives/node/node_call.hpp"
#include "src/pmpi/comm_route.hpp"
#include "src/pmpi/requests/posting_queue.hpp"

namespace sinew::pmpi {
namespace {

using node_memory::Room;

constexpr std::size_t ring = std::size_t{1} << 18;

std::shared_ptr<void> room_memory(int ranks) {
    std::size_t const bytes = Room::bytes(ranks, ring);
    void* const memory = ::operator new(bytes, std::align_val_t(4096));
    std::memset(memory, 0, bytes);
    return {memory, [](void* block) { ::operator delete(block, std::align_val_t(4096)); }};
}

/// Runs `rank(queues, r)` in a thread for each rank, with so many queues.
template <class Rank>
void run_ranks(int ranks, std::size_t count, Rank const& rank) {
    std::vector<std::shared_ptr<void>> memories;
    for (std::size_t i = 0; i < 2 * count; ++i) memories.push_back(room_memory(ranks));
    std::atomic<int> through{0};
    std::vector<std::thread> threads;
    for (int r = 0; r < ranks; ++r)
        threads.emplace_back([&, r] {
            std::vector<std::unique_ptr<CommRoute>> routes;
            std::vector<BackgroundQueue*> queues;
            auto const room = [&](std::size_t i) {
                return std::make_unique<Room>(memories[i], r, ranks, ring, nullptr);
            };
            for (std::size_t i = 0; i < count; ++i) {
                routes.push_back(std::make_unique<CommRoute>());
                CommRoute& route = *routes.back();
                route.rank = r;
                route.size = ranks;
                route.room = room(2 * i);
                route.posted = std::make_unique<PostingQueue>(route);
                route.background = std::make_unique<BackgroundQueue>(route, room(2 * i + 1));
                queues.push_back(route.background.get());
            }
            rank(queues, r);
            ++through;
            while (through.load() < ranks) std::this_thread::yield();
        });
    for (std::thread& thread : threads) thread.join();
}

int value_of(int r, int i) { return 1000 * r + i; }

/// The sum of vectors of all ranks.
struct Sum {
    std::shared_ptr<BackgroundCollective> call =
        std::make_shared<BackgroundCollective>(MpiFunction::iallreduce, MPI_Comm{});
    std::vector<int> in, out;
    int expected = 0;

    void post(BackgroundQueue& queue, int ranks, int r, int i, std::size_t count) {
        in.assign(count, value_of(r, i));
        out.assign(count, -1);
        for (int from = 0; from < ranks; ++from) expected += value_of(from, i);
        collectives::Reducer const reducer(sum, DataType::Kind::i32);
        collectives::Arguments args;
        args.in = reinterpret_cast<std::byte const*>(in.data());
        args.out = reinterpret_cast<std::byte*>(out.data());
        args.count = count;
        args.element = sizeof(int);
        args.reduce = &reducer;
        call->prepare(collectives::node::allreduce, args);
        queue.post(call);
    }
    bool ended() const { return call->ended.load(std::memory_order_acquire); }
    void expect_result(int i) const {
        ASSERT_FALSE(call->failed);
        for (int const each : out) ASSERT_EQ(each, expected) << "call " << i;
    }
};

// The last rank does nothing until the others have all their results: a thread of the library executes its
// calls.
TEST(BackgroundQueue, NobodyWaitsForARankThatDoesSomethingElse) {
    constexpr int ranks = 3, calls = 20;
    std::atomic<int> through{0};
    run_ranks(ranks, 1, [&](std::vector<BackgroundQueue*> const& queues, int r) {
        std::vector<Sum> all(calls);
        for (int i = 0; i < calls; ++i)
            all[static_cast<std::size_t>(i)].post(*queues[0], ranks, r, i,
                                                  5000 + static_cast<std::size_t>(i) * 100);
        while (r == ranks - 1 && through.load() < ranks - 1) std::this_thread::yield();
        for (int i = calls - 1; i >= 0; --i) {
            Sum const& sum = all[static_cast<std::size_t>(i)];
            if (r == 0) queues[0]->await(*sum.call);
            while (!sum.ended()) queues[0]->progress();
            sum.expect_result(i);
        }
        ++through;
    });
}

// Each rank waits for the calls of several queues in an order of its own.
TEST(BackgroundQueue, QueuesDoNotWaitForEachOther) {
    constexpr int ranks = 3, times = 15;
    constexpr std::size_t count = 4;
    run_ranks(ranks, count, [&](std::vector<BackgroundQueue*> const& queues, int r) {
        std::mt19937 same(3), own(static_cast<unsigned>(r));
        for (int time = 0; time < times; ++time) {
            std::vector<Sum> all(2 * count);
            std::vector<std::size_t> order;
            for (std::size_t q = 0; q < count; ++q) order.push_back(q);
            std::vector<std::size_t> lengths;
            for (std::size_t k = 0; k < 2 * count; ++k) lengths.push_back(3000 + same() % 20000);
            for (std::size_t const half : {std::size_t{0}, count}) {
                std::shuffle(order.begin(), order.end(), own);
                for (std::size_t const q : order)
                    all[half + q].post(*queues[q], ranks, r, static_cast<int>(half + q),
                                       lengths[half + q]);
            }
            std::vector<std::size_t> waits;
            for (std::size_t k = 0; k < 2 * count; ++k) waits.push_back(k);
            std::shuffle(waits.begin(), waits.end(), own);
            for (std::size_t const k : waits) {
                if (k % 2 == 0) queues[k % count]->await(*all[k].call);
                while (!all[k].ended()) queues[k % count]->progress();
                all[k].expect_result(static_cast<int>(k));
            }
        }
    });
}

TEST(BackgroundQueue, AFailureEndsAllCalls) {
    run_ranks(2, 1, [&](std::vector<BackgroundQueue*> const& queues, int r) {
        if (r == 1) return;
        std::vector<Sum> all(10);
        for (int i = 0; i < 10; ++i) all[static_cast<std::size_t>(i)].post(*queues[0], 2, r, i, 50);
        queues[0]->fail();
        for (Sum const& sum : all) EXPECT_TRUE(sum.ended() && sum.call->failed);
        EXPECT_TRUE(queues[0]->route().lost);
        int delivered = 0;
        all[0].call->afterwards([&] { ++delivered; });
        all[0].call->deliver();
        EXPECT_EQ(delivered, 0);
    });
}

// What a thread of the library throws ends the calls, not the process.
TEST(BackgroundQueue, AnErrorInTheBackgroundFailsTheCalls) {
    run_ranks(1, 1, [&](std::vector<BackgroundQueue*> const& queues, int) {
        auto const call = std::make_shared<BackgroundCollective>(MpiFunction::ibcast, MPI_Comm{});
        call->prepare([](collectives::node::NodeCall const&) { throw std::bad_alloc(); }, {});
        queues[0]->post(call);
        while (!call->ended.load(std::memory_order_acquire)) std::this_thread::yield();
        EXPECT_TRUE(call->failed);
    });
}

}  // namespace
}  // namespace sinew::pmpi
