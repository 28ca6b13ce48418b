// SPDX-License-Identifier: Apache-2.0
// The queue of non-blocking calls with threads as ranks, so that the sanitizers see it. No MPI is called.
#include "src/pmpi/requests/posting_queue.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <random>
#include <thread>
#include <vector>

#include "src/pmpi/comm_route.hpp"

namespace sinew::pmpi {
namespace {

using node_memory::Room;
using Pattern = PostedCollective::Message::Pattern;

/// Memory of a room for so many ranks.
std::shared_ptr<void> room_memory(int ranks, std::size_t ring) {
    std::size_t const bytes = Room::bytes(ranks, ring);
    void* const memory = ::operator new(bytes, std::align_val_t(4096));
    std::memset(memory, 0, bytes);
    return {memory, [](void* block) { ::operator delete(block, std::align_val_t(4096)); }};
}

/// Runs `rank(queue, r)` in a thread for each rank.
template <class Rank>
void run_ranks(int ranks, Rank const& rank) {
    constexpr std::size_t ring = std::size_t{1} << 16;
    auto const memory = room_memory(ranks, ring);
    std::vector<std::thread> threads;
    for (int r = 0; r < ranks; ++r)
        threads.emplace_back([&, r] {
            CommRoute route;
            route.rank = r;
            route.size = ranks;
            route.room = std::make_unique<Room>(memory, r, ranks, ring, nullptr);
            PostingQueue queue(route);
            rank(queue, r);
        });
    for (std::thread& thread : threads) thread.join();
}

/// What rank r contributes to call i.
int value_of(int r, int i) { return 1000 * r + i; }

/// One call, its vector and its result on one rank.
struct Call {
    std::shared_ptr<PostedCollective> posted =
        std::make_shared<PostedCollective>(MpiFunction::iallreduce, MPI_Comm{});
    std::vector<int> in, out;
    int expected = -1;  ///< in each element; -1: nothing arrives

    void post(PostingQueue& queue, int ranks, int r, int i, Pattern pattern, int root,
              std::size_t count) {
        in.assign(count, value_of(r, i));
        out.assign(count, -1);
        posted->plan = {.bytes = count * sizeof(int), .pattern = pattern, .root = root};
        auto* const to = reinterpret_cast<std::byte*>(out.data());
        auto const sum_to = [&](int last) {
            posted->combination = {.reducer = collectives::Reducer(sum, DataType::Kind::i32),
                                   .to = to,
                                   .offset = 0,
                                   .count = count,
                                   .last_rank = last};
            expected = 0;
            for (int from = 0; from <= last; ++from) expected += value_of(from, i);
        };
        switch (pattern) {
            case Pattern::all_to_all:
                sum_to(ranks - 1);
                break;
            case Pattern::to_higher:
                sum_to(r);
                break;
            case Pattern::to_root:
                if (r == root) sum_to(ranks - 1);
                break;
            case Pattern::from_root:
                if (r == root) break;
                posted->pieces.push_back(
                    {.rank = root, .offset = 0, .bytes = count * sizeof(int), .to = to});
                expected = value_of(root, i);
                break;
        }
        queue.post(posted, std::as_bytes(std::span(in)));
        std::fill(in.begin(), in.end(), -7);  // the queue has a copy
    }
    bool ended() const { return posted->ended.load(std::memory_order_acquire); }
    void expect_result(int i) const {
        for (int const each : out) ASSERT_EQ(each, expected) << "call " << i;
    }
};

// All ranks post more than there are places. The last one then does nothing until the others have all
// their results: its helper publishes and reads for it.
TEST(PostingQueue, NobodyWaitsForARankThatDoesSomethingElse) {
    constexpr int ranks = 3, calls = 200;
    std::atomic<int> through{0};
    run_ranks(ranks, [&](PostingQueue& queue, int r) {
        std::vector<Call> all(calls);
        for (int i = 0; i < calls; ++i)
            all[static_cast<std::size_t>(i)].post(
                queue, ranks, r, i, Pattern::all_to_all, 0,
                i % 4 == 3 ? 1500 : 1 + static_cast<std::size_t>(i) % 3);
        while (r == ranks - 1 && through.load() < ranks - 1) std::this_thread::yield();
        for (int i = calls - 1; i >= 0; --i) {
            auto const& call = all[static_cast<std::size_t>(i)];
            while (!call.ended()) {
                queue.progress();
                std::this_thread::yield();
            }
            call.expect_result(i);
        }
        ++through;
    });
}

// Calls of all patterns and sizes, with up to 60 pending at a time on each rank.
TEST(PostingQueue, RandomCallsGiveTheirResults) {
    constexpr int ranks = 4, calls = 2000;
    run_ranks(ranks, [&](PostingQueue& queue, int r) {
        std::mt19937 same(7), own(static_cast<unsigned>(r));
        std::vector<Call> all(calls);
        int first = 0;
        for (int i = 0; i < calls; ++i) {
            auto const pattern = static_cast<Pattern>(same() % 4);
            int const root = static_cast<int>(same() % ranks);
            std::size_t const sizes[] = {0, 1, 2, 14, 15, 300, 2048};
            all[static_cast<std::size_t>(i)].post(queue, ranks, r, i, pattern, root,
                                                  sizes[same() % 7]);
            int const keep = static_cast<int>(own() % 60);
            for (; first < i - keep; ++first) {
                auto const& call = all[static_cast<std::size_t>(first)];
                while (!call.ended()) {
                    queue.progress();
                    std::this_thread::yield();
                }
                call.expect_result(first);
            }
        }
        while (queue.pending()) queue.progress();
        for (; first < calls; ++first) all[static_cast<std::size_t>(first)].expect_result(first);
    });
}

TEST(PostingQueue, AFailureEndsAllCalls) {
    run_ranks(2, [&](PostingQueue& queue, int r) {
        if (r == 1) return;
        std::vector<Call> all(50);
        for (int i = 0; i < 50; ++i)
            all[static_cast<std::size_t>(i)].post(queue, 2, r, i, Pattern::all_to_all, 0, 500);
        EXPECT_TRUE(queue.pending());
        EXPECT_EQ(queue.awaited_rank(), 1);
        queue.fail();
        EXPECT_FALSE(queue.pending());
        for (Call const& call : all) EXPECT_TRUE(call.ended() && call.posted->failed);
    });
}

}  // namespace
}  // namespace sinew::pmpi
