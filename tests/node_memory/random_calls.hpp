// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>
#include <thread>
#include <vector>

#include <sinew/comm/reduce_op.hpp>

#include "collectives/node/node_call.hpp"
#include "src/base/text.hpp"
#include "src/node_memory/arena/arena.hpp"

namespace sinew::node_memory {

using collectives::Arguments;
using collectives::Blocks;

/// SplitMix64.
class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next() {
        std::uint64_t x = state_ += 0x9E3779B97F4A7C15u;
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
        x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
        return x ^ (x >> 31);
    }
    std::size_t below(std::size_t limit) { return static_cast<std::size_t>(next() % limit); }

private:
    std::uint64_t state_;
};

enum class Kind : std::uint8_t {
    allreduce,
    reduce,
    reduce_scatter,
    allgather,
    broadcast,
    gather,
    scatter,
    alltoall,
    scan,
    exscan,
    barrier
};
inline constexpr std::size_t kinds = 11;

/// A call, equal on all ranks.
struct Plan {
    std::uint64_t number;
    Kind kind;
    std::size_t type;  ///< 0: u8, 1: u32, 2: f64
    std::size_t count;
    int root;
    bool in_place, even, largest;

    static constexpr std::size_t most_bytes = std::size_t{2} << 20;

    /// Mostly some bytes, sometimes around the borders between the ways, rarely up to 2 MiB.
    static std::size_t bytes(Random& random) {
        std::size_t const of = random.below(1000);
        if (of < 500) return random.below(80);
        if (of < 600) return random.below(600);
        if (of < 800) return random.below(9000);
        if (of < 960) return random.below(40000);
        return of < 997 ? random.below(std::size_t{300} << 10) : random.below(most_bytes + 1);
    }
    static Plan of(std::uint64_t seed, std::uint64_t number, int ranks) {
        Random random(seed ^ number * 0xD1342543DE82EF95u);
        Plan plan{};
        plan.number = number;
        plan.kind = static_cast<Kind>(random.below(kinds));
        plan.type = random.below(3);
        constexpr std::size_t sizes[] = {1, 4, 8};
        plan.count = bytes(random) / sizes[plan.type];
        plan.root = static_cast<int>(random.below(static_cast<std::size_t>(ranks)));
        plan.in_place = random.below(2) == 0;
        plan.even = random.below(2) == 0;
        plan.largest = random.below(4) == 0;
        return plan;
    }
    /// Elements of a rank's part of a vector of `count`.
    std::size_t part(int rank, int ranks) const {
        std::size_t const equal = count / static_cast<std::size_t>(ranks);
        if (even || equal == 0) return equal;
        return Random(number * 64 + static_cast<std::uint64_t>(rank)).below(equal + 1);
    }
    /// Elements of what a rank sends to another one.
    std::size_t part(int from, int to, int ranks) const { return part(from * 16 + to + 7, ranks); }
};

/// The parts of a vector, one after the other with a gap between, in descending order of the ranks.
struct Parts {
    std::vector<std::size_t> counts, offsets;
    std::size_t extent = 0;

    template <class CountOf>
    Parts(int ranks, CountOf const& count_of) {
        for (int r = 0; r < ranks; ++r) counts.push_back(count_of(r));
        offsets.resize(counts.size());
        for (std::size_t r = counts.size(); r-- > 0;) {
            offsets[r] = extent;
            extent += counts[r] + 1;
        }
    }
    std::size_t count(int rank) const { return counts[static_cast<std::size_t>(rank)]; }
    std::size_t offset(int rank) const { return offsets[static_cast<std::size_t>(rank)]; }
    Blocks blocks(std::size_t element) const { return Blocks::listed(counts, offsets, element); }
};

/// One rank that makes random calls and compares every element of every result.
class RandomRank {
public:
    /// `room` has its memory in `arena`, from which some buffers come, too.
    RandomRank(Room& room, Waiter& waiter, Arena& arena, std::uint64_t seed, bool pauses)
        : room_(room), waiter_(waiter), seed_(seed), pauses_(pauses),
          own_(seed * 31 + static_cast<std::uint64_t>(room.rank())) {
        for (auto& buffer : shared_) buffer = arena.allocate(capacity);
        for (auto& buffer : private_) buffer.resize(capacity);
    }

    void call(std::uint64_t number) {
        Plan const plan = Plan::of(seed_, number, room_.size());
        pause();
        if (plan.type == 0) run<std::uint8_t>(plan);
        else if (plan.type == 1) run<std::uint32_t>(plan);
        else run<double>(plan);
    }

private:
    static constexpr std::size_t capacity = 2 * Plan::most_bytes + (std::size_t{1} << 16);
    static constexpr std::size_t margin = 64;

    void pause() {
        if (!pauses_) return;
        std::size_t const chance = own_.below(2000);
        if (chance < 60) std::this_thread::yield();
        else if (chance == 60)
            std::this_thread::sleep_for(std::chrono::microseconds(own_.below(400)));
    }

    std::byte* buffer(std::size_t which) {
        bool const shared = own_.below(3) == 0;
        std::byte* const all =
            shared ? static_cast<std::byte*>(shared_[which].get()) : private_[which].data();
        return all + margin + 64 * own_.below(3);
    }

    template <class T>
    static T value(Plan const& plan, int rank, std::size_t i) {
        std::uint64_t const word =
            (plan.number * 8 + static_cast<std::uint64_t>(rank) + 1) * 0x9E3779B97F4A7C15u;
        auto const v =
            static_cast<std::uint32_t>(word >> 32) + static_cast<std::uint32_t>(i) * 40503u;
        if constexpr (std::is_same_v<T, double>) return static_cast<T>(v % 65536);
        else return static_cast<T>(v);
    }
    template <class T>
    static T reduced(Plan const& plan, int first, int last, std::size_t i) {
        T all = value<T>(plan, first, i);
        for (int r = first + 1; r <= last; ++r) {
            T const one = value<T>(plan, r, i);
            all = plan.largest ? std::max(all, one) : static_cast<T>(all + one);
        }
        return all;
    }

    template <class T>
    void expect(Plan const& plan, T const* out, std::size_t i, T wanted) {
        T got;
        std::memcpy(&got, out + i, sizeof got);
        if (got != wanted) fail(plan, i, "is wrong");
    }
    [[noreturn]] void fail(Plan const& plan, std::size_t at, char const* what) const {
        throw std::runtime_error(text("seed ", seed_, ", call ", plan.number, " of kind ",
                                      static_cast<int>(plan.kind), ", count ", plan.count,
                                      ", type ", plan.type, ", root ", plan.root, ": element ", at,
                                      ' ', what, " on rank ", room_.rank(), " of ", room_.size()));
    }

    template <class T>
    void fill(Plan const& plan, T* to, int rank, std::size_t first, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) to[i] = value<T>(plan, rank, first + i);
    }

    template <class T>
    void run(Plan const& plan) {
        int const ranks = room_.size(), self = room_.rank();
        bool const at_root = self == plan.root;
        auto* const in = reinterpret_cast<T*>(buffer(0));
        auto* out = reinterpret_cast<T*>(buffer(1));
        collectives::Reducer const reduce(plan.largest ? max : sum, data_type_of<T>());
        Arguments args;
        args.element = sizeof(T);
        args.root = plan.root;
        args.reduce = &reduce;
        args.count = plan.count;
        Parts const parts(ranks, [&](int r) { return plan.part(r, ranks); });
        Parts const sent(ranks, [&](int r) { return plan.part(self, r, ranks); });
        Parts const received(ranks, [&](int r) { return plan.part(r, self, ranks); });
        std::size_t const own = parts.count(self);
        std::size_t in_count = 0, out_count = 0;  // the extents of the buffers
        using collectives::node::NodeCall;
        void (*algorithm)(NodeCall const&) = nullptr;
        switch (plan.kind) {
            case Kind::allreduce:
            case Kind::scan:
            case Kind::exscan:
            case Kind::reduce:
                in_count = out_count = plan.count;
                if (plan.in_place) out = in;
                fill(plan, in, self, 0, plan.count);
                algorithm = plan.kind == Kind::allreduce ? collectives::node::allreduce
                            : plan.kind == Kind::scan    ? collectives::node::scan
                            : plan.kind == Kind::exscan  ? collectives::node::exscan
                                                         : collectives::node::reduce;
                break;
            case Kind::reduce_scatter:
                in_count = parts.extent;
                out_count = own;
                args.count = own;
                args.blocks = parts.blocks(sizeof(T));
                for (int r = 0; r < ranks; ++r)
                    fill(plan, in + parts.offset(r), self, parts.offset(r), parts.count(r));
                algorithm = collectives::node::reduce_scatter;
                break;
            case Kind::allgather:
            case Kind::gather:
                out_count = parts.extent;
                in_count = own;
                args.count = own;
                args.blocks = parts.blocks(sizeof(T));
                fill(plan, in, self, 0, own);
                fill(plan, out + parts.offset(self), self, 0, own);
                algorithm = plan.kind == Kind::gather ? collectives::node::gather
                                                      : collectives::node::allgather;
                break;
            case Kind::broadcast:
                out_count = plan.count;
                if (at_root) fill(plan, out, self, 0, plan.count);
                algorithm = collectives::node::broadcast;
                break;
            case Kind::scatter:
                in_count = parts.extent;
                out_count = own;
                args.count = own;
                args.blocks = parts.blocks(sizeof(T));
                if (at_root)
                    for (int r = 0; r < ranks; ++r)
                        fill(plan, in + parts.offset(r), self, parts.offset(r), parts.count(r));
                algorithm = collectives::node::scatter;
                break;
            case Kind::alltoall:
                in_count = sent.extent;
                out_count = received.extent;
                args.sent = sent.blocks(sizeof(T));
                args.blocks = received.blocks(sizeof(T));
                for (int r = 0; r < ranks; ++r)
                    fill(plan, in + sent.offset(r), self, 1000 * static_cast<std::size_t>(r),
                         sent.count(r));
                algorithm = collectives::node::alltoall;
                break;
            case Kind::barrier:
                algorithm = collectives::node::barrier;
                break;
        }
        args.in = reinterpret_cast<std::byte const*>(in);
        args.out = reinterpret_cast<std::byte*>(out);
        auto* const end = reinterpret_cast<std::byte*>(out + out_count);
        auto* const begin = reinterpret_cast<std::byte*>(out) - margin;
        std::memset(begin, 0xA5, margin);
        std::memset(end, 0xA5, margin);
        algorithm({room_, waiter_, args});
        check(plan, in, out, parts, received);
        for (std::size_t i = 0; i < margin; ++i)
            if (begin[i] != std::byte{0xA5} || end[i] != std::byte{0xA5})
                fail(plan, i, "outside of the result was written");
        static_cast<void>(in_count);
    }

    template <class T>
    void check(Plan const& plan, T const* in, T const* out, Parts const& parts,
               Parts const& received) {
        int const ranks = room_.size(), self = room_.rank();
        bool const at_root = self == plan.root;
        std::size_t const own = parts.count(self);
        auto const all_reduced = [&](T const* from, int last, std::size_t first,
                                     std::size_t count) {
            for (std::size_t i = 0; i < count; ++i)
                expect(plan, from, i, reduced<T>(plan, 0, last, first + i));
        };
        auto const unchanged = [&](T const* from) {
            for (std::size_t i = 0; i < plan.count; ++i)
                expect(plan, from, i, value<T>(plan, self, i));
        };
        switch (plan.kind) {
            case Kind::allreduce:
                all_reduced(out, ranks - 1, 0, plan.count);
                if (!plan.in_place) unchanged(in);
                break;
            case Kind::reduce:
                if (at_root) all_reduced(out, ranks - 1, 0, plan.count);
                if (!at_root || !plan.in_place) unchanged(in);
                break;
            case Kind::scan:
                all_reduced(out, self, 0, plan.count);
                break;
            case Kind::exscan:
                if (self > 0) all_reduced(out, self - 1, 0, plan.count);
                else unchanged(in);
                break;
            case Kind::reduce_scatter:
                all_reduced(out, ranks - 1, parts.offset(self), own);
                break;
            case Kind::gather:
                if (!at_root) break;
                [[fallthrough]];
            case Kind::allgather:
                for (int r = 0; r < ranks; ++r)
                    for (std::size_t i = 0; i < parts.count(r); ++i)
                        expect(plan, out + parts.offset(r), i, value<T>(plan, r, i));
                break;
            case Kind::broadcast:
                for (std::size_t i = 0; i < plan.count; ++i)
                    expect(plan, out, i, value<T>(plan, plan.root, i));
                break;
            case Kind::scatter:
                for (std::size_t i = 0; !at_root && i < own; ++i)
                    expect(plan, out, i, value<T>(plan, plan.root, parts.offset(self) + i));
                break;
            case Kind::alltoall:
                for (int r = 0; r < ranks; ++r)
                    for (std::size_t i = 0; i < received.count(r); ++i)
                        expect(plan, out + received.offset(r), i,
                               value<T>(plan, r, 1000 * static_cast<std::size_t>(self) + i));
                break;
            case Kind::barrier:
                break;
        }
    }

    Room& room_;
    Waiter& waiter_;
    std::uint64_t seed_;
    bool pauses_;
    Random own_;
    std::array<std::shared_ptr<void>, 2> shared_;
    std::array<std::vector<std::byte>, 2> private_;
};

}  // namespace sinew::node_memory
