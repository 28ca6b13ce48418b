// SPDX-License-Identifier: Apache-2.0
// Long blocks over the node's memory: lent, through slots, refused by the kernel, and past the cache.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <vector>

#include "src/node_memory/arena/private_memory.hpp"
#include "tests/comm/ranks.hpp"

namespace sinew::tests {
namespace {

/// Passes blocks of 156 KiB and of other sizes. Some lie in memory that the ranks share, on some ranks only.
void pass_long_blocks(Communicator& comm) {
    make_room(comm);
    int const self = comm.rank();
    auto const me = static_cast<std::size_t>(self), ranks = static_cast<std::size_t>(comm.size());
    constexpr std::size_t count = 40000;
    // One is short, one passes in other ways.
    std::vector<std::size_t> counts{10, 2 * count + 1};
    if (ranks > 2) counts.push_back(count);
    std::size_t sum_of_counts = 0;
    for (std::size_t const each : counts) sum_of_counts += each;
    std::vector<int> own(ranks * count), all(ranks * count), uneven(sum_of_counts),
        mine(2 * count + 1);
    auto const shared = comm.allocate<int>(2 * count + 1);
    auto const blocks = [](std::vector<std::size_t> const& sizes, auto const& value_of) {
        std::vector<int> expected;
        for (int from = 0; std::size_t const size : sizes)
            expected.insert(expected.end(), size, value_of(from++));
        return expected;
    };
    std::vector<std::size_t> const equal(ranks, count);
    for (int i = 0; i < 100; ++i) {
        bool const in_place = i % 3 == 0;
        auto const value = [&](int from, int to) { return 100 * i + 10 * from + to; };
        for (std::size_t to = 0; to < ranks; ++to)
            std::fill_n(own.begin() + static_cast<std::ptrdiff_t>(to * count), count,
                        value(self, static_cast<int>(to)));
        if (in_place) {
            all = own;
            comm.alltoall(all);
        } else {
            comm.alltoall(own, all);
        }
        ASSERT_TRUE(all == blocks(equal, [&](int from) { return value(from, self); }))
            << "alltoall " << i;
        // All combinations of ranks that lend and ranks that do not.
        bool const lends = i >> me & 1;
        std::span<int> const from =
            lends ? std::span<int>(shared.data(), shared.size()) : std::span<int>(mine);
        std::fill(all.begin(), all.end(), -1);
        std::span<int> const block(all.data() + me * count, count);
        std::fill(block.begin(), block.end(), value(self, self));
        std::copy(block.begin(), block.end(), from.begin());
        in_place ? comm.allgather(all) : comm.allgather(from.first(count), all);
        ASSERT_TRUE(all == blocks(equal, [&](int r) { return value(r, r); })) << "allgather " << i;
        std::fill_n(from.begin(), counts[me], value(self, self));
        comm.allgatherv(from.first(counts[me]), uneven, counts);
        ASSERT_TRUE(uneven == blocks(counts, [&](int r) { return value(r, r); }))
            << "allgatherv " << i;
        std::fill_n(own.begin(), own.size(), 1);
        comm.reduce_scatter_block(own, from.first(count), sum);
        ASSERT_EQ(std::ranges::count(from.first(count), comm.size()),
                  static_cast<std::ptrdiff_t>(count))
            << "reduce_scatter_block " << i;
        comm.allreduce(own, sum);
        ASSERT_EQ(std::ranges::count(own, comm.size()), static_cast<std::ptrdiff_t>(own.size()))
            << "allreduce " << i;
    }
}

// The ways to hand over a block are tried in turn, and ranks may use different ones at a time.
TEST(LongBlocks, PassInEveryWay) {
    for (char const* const single_copy : {"0", "1"}) {
        Variable const unchecked("SINEW_CHECK", "0"), setting("SINEW_SINGLE_COPY", single_copy);
        for (std::size_t const ranks : {2u, 3u})
            run_thread_ranks(static_cast<int>(ranks),
                             [&](Communicator& comm) { pass_long_blocks(comm); });
    }
}

/// Memory that only this process may read, but for its first 64 KiB: no system call reads it for another one, as that of a device.
class SecretMemory {
public:
    explicit SecretMemory(std::size_t count) : bytes_(count * sizeof(int)) {
        int const file = static_cast<int>(::syscall(SYS_memfd_secret, O_CLOEXEC));
        if (file < 0) return;
        if (::ftruncate(file, static_cast<off_t>(bytes_)) == 0) {
            void* const memory =
                ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
            if (memory != MAP_FAILED) data_ = static_cast<int*>(memory);
            std::size_t const readable = std::min(bytes_, std::size_t{64} << 10);
            if (data_ != nullptr &&
                ::mmap(data_, readable, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
                std::terminate();
        }
        ::close(file);
    }
    SecretMemory(SecretMemory const&) = delete;
    ~SecretMemory() {
        if (data_ != nullptr) ::munmap(data_, bytes_);
    }
    explicit operator bool() const { return data_ != nullptr; }
    std::span<int> span() const { return {data_, bytes_ / sizeof(int)}; }

private:
    std::size_t bytes_;
    int* data_ = nullptr;
};

/// Blocks of 156 KiB from memory that others cannot read, on the ranks whose bit is set.
void pass_secret_blocks(Communicator& comm) {
    make_room(comm);
    auto const me = static_cast<std::size_t>(comm.rank()),
               ranks = static_cast<std::size_t>(comm.size());
    constexpr std::size_t count = 40000;
    SecretMemory const secret(ranks * count);
    ASSERT_TRUE(secret);
    ASSERT_FALSE(node_memory::is_readable_privately(&secret.span().back(), sizeof(int)));
    std::vector<int> ordinary(ranks * count), all(ranks * count);
    for (std::size_t i = 0; i < 40; ++i) {
        bool const hides = (i >> me & 1) != 0;
        std::span<int> const own = hides ? secret.span() : std::span<int>(ordinary);
        auto const value = [&](std::size_t from, std::size_t to) {
            return static_cast<int>(100 * i + 10 * from + to);
        };
        for (std::size_t to = 0; to < ranks; ++to)
            std::ranges::fill(own.subspan(to * count, count), value(me, to));
        auto const expect = [&](auto const& value_of, char const* call) {
            for (std::size_t from = 0; from < ranks; ++from)
                ASSERT_EQ(
                    std::ranges::count(std::span(all).subspan(from * count, count), value_of(from)),
                    static_cast<std::ptrdiff_t>(count))
                    << call << ' ' << i << ", from rank " << from;
        };
        comm.alltoall(own, all);
        expect([&](std::size_t from) { return value(from, me); }, "alltoall");
        comm.allgather(own.first(count), all);
        expect([&](std::size_t from) { return value(from, 0); }, "allgather");
    }
}

TEST(LongBlocks, ThatTheKernelCannotReadPassThroughSlots) {
    if (!SecretMemory(1)) GTEST_SKIP() << "this kernel has no memfd_secret";
    Variable const unchecked("SINEW_CHECK", "0");
    for (int const ranks : {2, 3})
        run_thread_ranks(ranks, [&](Communicator& comm) { pass_secret_blocks(comm); });
}

/// Moves results that are stored past the cache, to addresses between cache lines.
void move_past_the_cache(Communicator& comm) {
    make_room(comm);
    auto const me = static_cast<std::size_t>(comm.rank()),
               ranks = static_cast<std::size_t>(comm.size());
    std::size_t const count = (std::size_t{9} << 20) / sizeof(int) / ranks + 3;  // of a block
    std::vector<int> in(ranks * count), memory(ranks * count + 2, -7);
    std::span<int> const out(memory.data() + 1, ranks * count);
    auto const value = [&](std::size_t rank, std::size_t i) {
        return static_cast<int>(rank * 1000003 + i);
    };
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = value(me, i);
    auto const expect = [&](auto const& value_at, std::size_t size, char const* call) {
        for (std::size_t i = 0; i < size; ++i)
            if (out[i] != value_at(i)) FAIL() << call << ", element " << i << " is " << out[i];
        ASSERT_EQ(memory.front(), -7);
        ASSERT_EQ(memory.back(), -7);
        std::ranges::fill(out, -1);
    };
    for (int repeated = 0; repeated < 2; ++repeated) {
        comm.alltoall(in, out);
        expect([&](std::size_t i) { return value(i / count, me * count + i % count); }, out.size(),
               "alltoall");
        comm.allgather(std::span(in).first(count), out);
        expect([&](std::size_t i) { return value(i / count, i % count); }, out.size(), "allgather");
        std::span<int> const sent = me == 1 ? std::span<int>(in) : out;
        comm.broadcast(sent, 1);
        if (me == 1) std::ranges::copy(in, out.begin());
        expect([&](std::size_t i) { return value(1, i); }, out.size(), "broadcast");
    }
}

TEST(LongBlocks, AreStoredPastTheCacheBetweenLines) {
    for (char const* const single_copy : {"0", "1"}) {
        Variable const unchecked("SINEW_CHECK", "0"), setting("SINEW_SINGLE_COPY", single_copy);
        for (int const ranks : {2, 3})
            run_thread_ranks(ranks, [&](Communicator& comm) { move_past_the_cache(comm); });
    }
}

}  // namespace
}  // namespace sinew::tests
