// SPDX-License-Identifier: Apache-2.0
// The bytes that ranks read from the rings of other domains, counted by the pages that they touch: each
// rank has a view of the memory in which the rings of other domains are protected, and a page of them is
// counted and opened when it is read first. Messages have three rounds, so no page is used twice.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <csignal>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "collectives/node/node_call.hpp"
#include "src/base/system/unique_fd.hpp"
#include "tests/node_memory/patient_waiter.hpp"

namespace sinew::node_memory {
namespace {

using collectives::Arguments;
using collectives::Blocks;

constexpr int ranks = 8;
constexpr std::size_t page = 4096, ring = std::size_t{4} << 20;
constexpr std::size_t vector_bytes = std::size_t{96} << 10;

struct View {
    std::byte* begin = nullptr;
    std::size_t bytes = 0;
};
std::array<View, ranks> views;
std::atomic<std::size_t> pages_touched{0};

void open_page(int signal, siginfo_t* info, void*) {
    auto* const address = static_cast<std::byte*>(info->si_addr);
    for (View const& view : views) {
        if (address < view.begin || address >= view.begin + view.bytes) continue;
        auto const offset = static_cast<std::size_t>(address - view.begin) / page * page;
        ::mprotect(view.begin + offset, page, PROT_READ | PROT_WRITE);
        pages_touched.fetch_add(1);
        return;
    }
    std::signal(signal, SIG_DFL);  // another fault, which comes again
}

/// Handles faults during its lifetime.
class CountFaults {
public:
    CountFaults() {
        struct sigaction action {};
        action.sa_sigaction = open_page;
        action.sa_flags = SA_SIGINFO;
        ::sigaction(SIGSEGV, &action, &before_);
        pages_touched = 0;
    }
    CountFaults(CountFaults const&) = delete;
    ~CountFaults() { ::sigaction(SIGSEGV, &before_, nullptr); }

private:
    struct sigaction before_ {};
};

using Call = void (*)(Room&, Waiter&, Arguments&);

/// The bytes that all ranks together read from other domains than their own in one call.
std::size_t bytes_across(Domains const& lie, Domains const& used, Call call) {
    std::size_t const bytes = (Room::bytes(ranks, ring) + page - 1) / page * page;
    UniqueFd const file(::memfd_create("crossings", MFD_CLOEXEC));
    if (::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) ADD_FAILURE() << "no memory";
    std::vector<std::unique_ptr<Room>> rooms;
    for (int rank = 0; rank < ranks; ++rank) {
        void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
        views[static_cast<std::size_t>(rank)] = {static_cast<std::byte*>(at), bytes};
        std::shared_ptr<void> const view(at, [bytes](void* all) { ::munmap(all, bytes); });
        rooms.push_back(std::make_unique<Room>(view, rank, ranks, ring, nullptr));
        rooms.back()->use_domains(used);
    }
    CountFaults const counting;
    for (int rank = 0; rank < ranks; ++rank)
        for (int const far : lie.outside(lie.of(rank)))
            ::mprotect(rooms[static_cast<std::size_t>(rank)]->result_of(far, 0, 0), ring,
                       PROT_NONE);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank)
        threads.emplace_back([&, rank] {
            std::vector<float> in(ranks * vector_bytes / sizeof(float)), out(in.size());
            collectives::Reducer const reduce(sum, DataType::Kind::f32);
            Arguments args;
            args.in = reinterpret_cast<std::byte const*>(in.data());
            args.out = reinterpret_cast<std::byte*>(out.data());
            args.element = sizeof(float);
            args.count = vector_bytes / sizeof(float);
            args.reduce = &reduce;
            PatientWaiter waiter;
            call(*rooms[static_cast<std::size_t>(rank)], waiter, args);
        });
    for (std::thread& thread : threads) thread.join();
    std::size_t const touched = pages_touched * page;
    views = {};
    return touched;
}

struct Crossing {
    char const* name;
    Call call;
    double before, after;  ///< in vectors, or blocks
};

void gather(Room& room, Waiter& waiter, Arguments& args) {
    args.blocks = Blocks::equal(args.count, args.element);
    args.in = nullptr;
    collectives::node::allgather({room, waiter, args});
}
void reduce_scatter(Room& room, Waiter& waiter, Arguments& args) {
    args.count /= ranks;
    args.blocks = Blocks::equal(args.count, args.element);
    collectives::node::reduce_scatter({room, waiter, args});
}
template <int root>
void reduce(Room& room, Waiter& waiter, Arguments& args) {
    args.root = root;
    collectives::node::reduce({room, waiter, args});
}

// The table of docs/internals/node-memory.md, for 8 ranks in 2 domains.
TEST(Crossings, AreAsFewAsThereAreBorders) {
#if defined(SINEW_TEST_TSAN) || defined(SINEW_TEST_ASAN)
    GTEST_SKIP() << "sanitizers handle faults themselves";
#endif
    std::vector<int> const halves{0, 0, 0, 0, 1, 1, 1, 1};
    Domains const one(ranks), two(halves, true);
    Crossing const crossings[] = {
        {"allreduce",
         [](Room& room, Waiter& waiter, Arguments& args) {
             collectives::node::allreduce({room, waiter, args});
         },
         8, 2},
        {"reduce to rank 0", reduce<0>, 4.5, 2},
        {"reduce to rank 7", reduce<7>, 4.5, 1},
        {"reduce_scatter", reduce_scatter, 4, 1.5},
        {"broadcast",
         [](Room& room, Waiter& waiter, Arguments& args) {
             collectives::node::broadcast({room, waiter, args});
         },
         4, 1},
        {"allgather", gather, 32, 8},
    };
    for (Crossing const& c : crossings) {
        auto const vectors = [&](Domains const& used) {
            return static_cast<double>(bytes_across(two, used, c.call)) / vector_bytes;
        };
        EXPECT_EQ(vectors(one), c.before) << c.name << " without domains";
        EXPECT_EQ(vectors(two), c.after) << c.name << " by domain";
    }
}

}  // namespace
}  // namespace sinew::node_memory
