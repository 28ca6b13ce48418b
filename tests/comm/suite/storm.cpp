// SPDX-License-Identifier: Apache-2.0
#include "tests/comm/suite/storm.hpp"

#include <algorithm>
#include <deque>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <sinew/error.hpp>

#include "src/base/env.hpp"
#include "src/base/text.hpp"
#include "tests/comm/ranks.hpp"

namespace sinew::tests {

namespace {

using Value = std::uint64_t;

/// The contribution of rank `rank` to call number `call` at `index`.
Value storm_value(std::uint64_t call, int rank, std::size_t index) {
    std::uint64_t x =
        (call + 1) * 0x9E3779B97F4A7C15u + static_cast<std::uint64_t>(rank) * 0x100003u + index;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    return (x ^ (x >> 27)) >> 8;
}

/// The random parameters of a call, equal on all ranks.
struct Draw {
    Collective collective;
    std::string_view algorithm;  ///< empty: sinew's choice
    std::size_t count;
    int root;
    bool largest;  ///< for reductions: max instead of sum
    bool blocking;
    int on;  ///< index of the communicator
};

/// A call with its buffers; may be in flight.
struct Call {
    Draw draw;
    std::uint64_t number = 0;
    std::vector<Value> in, out;
    std::vector<std::size_t> counts, received;
    Request request;
};

class Storm {
public:
    Storm(Communicator& comm, std::uint64_t seed)
        : copy_(comm.dup()), part_(comm.split(comm.rank() % 2)), comms_{&comm, &copy_, &part_},
          seed_(seed) {}

    void run(long calls) {
        for (long i = 0; i < calls; ++i) {
            // Ranks that are not in the same part may differ in what is refused, so each call has
            // its own seed.
            state_ = seed_ + static_cast<std::uint64_t>(i) * 0x9E3779B97F4A7C15u;
            std::size_t const leave = pick(most_under_way + 1);
            begin(static_cast<std::uint64_t>(i));
            while (under_way_.size() > leave) end_oldest();
        }
        while (!under_way_.empty()) end_oldest();
    }

private:
    static constexpr std::size_t most_under_way = 8;

    /// SplitMix64.
    std::size_t pick(std::size_t below) {
        std::uint64_t x = state_ += 0x9E3779B97F4A7C15u;
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
        x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
        return static_cast<std::size_t>((x ^ (x >> 31)) % below);
    }
    /// Mostly few elements, sometimes several segments, rarely more than the transport copies.
    std::size_t pick_count() {
        std::size_t const kind = pick(100);
        if (kind < 70) return pick(20);
        if (kind < 95) return pick(1500);
        return kind < 99 ? pick(12000) : pick(60000);
    }
    Draw draw() {
        auto const collective = static_cast<Collective>(pick(collectives_count));
        auto const names = algorithm_names(collective);
        std::size_t const name = pick(names.size() + 1);
        // Drawn in the same order on all ranks, whatever the size of their part.
        Draw drawn{.collective = collective,
                   .algorithm = name < names.size() ? names[name] : std::string_view(),
                   .count = pick_count(),
                   .root = static_cast<int>(pick(1024)),
                   .largest = pick(2) == 0,
                   .blocking = pick(3) != 0,
                   .on = static_cast<int>(pick(3))};
        drawn.root %= communicator(drawn).size();
        return drawn;
    }
    Communicator& communicator(Draw const& draw) {
        return *comms_[static_cast<std::size_t>(draw.on)];
    }

    void begin(std::uint64_t number) {
        Call& call = under_way_.emplace_back();
        call.draw = draw();
        call.number = number;
        prepare(call);
        try {
            call.request = start(call);
        } catch (UsageError const& refusal) {
            throw_unless_expected(refusal);
            under_way_.pop_back();
        }
    }

    /// An algorithm that does not apply is refused on all ranks before anything is sent.
    static void throw_unless_expected(UsageError const& refusal) {
        if (std::string_view(refusal.what()).find("cannot do") == std::string_view::npos)
            throw std::runtime_error(refusal.what());
    }

    void end_oldest() {
        Call& call = under_way_.front();
        try {
            call.request.wait();
            check(call);
        } catch (UsageError const& refusal) {
            throw_unless_expected(refusal);
        }
        under_way_.pop_front();
    }

    /// The number of elements that `from` sends `to` in an alltoallv; in other calls, the part of
    /// `to`.
    static std::size_t uneven(Draw const& draw, int from, int to) {
        return (draw.count + static_cast<std::size_t>(3 * from + 5 * to)) % (draw.count + 4);
    }
    std::size_t part(Draw const& draw, int rank) { return uneven(draw, 0, rank); }

    void prepare(Call& call) {
        Communicator& comm = communicator(call.draw);
        auto const n = static_cast<std::size_t>(comm.size());
        int const self = comm.rank();
        bool const at_root = self == call.draw.root;
        std::size_t const count = call.draw.count;
        std::size_t in = count, out = count;
        auto const list_parts = [&] {
            for (int r = 0; r < comm.size(); ++r) call.counts.push_back(part(call.draw, r));
        };
        std::size_t total = 0;
        switch (call.draw.collective) {
            case Collective::reduce_scatter_block:
                in = count * n;
                break;
            case Collective::allgather:
                out = count * n;
                break;
            case Collective::gather:
                out = at_root ? count * n : 0;
                break;
            case Collective::reduce:
                out = at_root ? count : 0;
                break;
            case Collective::scatter:
                in = at_root ? count * n : 0;
                break;
            case Collective::alltoall:
                in = out = count * n;
                break;
            case Collective::reduce_scatter:
            case Collective::allgatherv:
            case Collective::gatherv:
            case Collective::scatterv:
                list_parts();
                for (std::size_t const one : call.counts) total += one;
                in = out = part(call.draw, self);
                if (call.draw.collective == Collective::reduce_scatter) in = total;
                if (call.draw.collective == Collective::allgatherv) out = total;
                if (call.draw.collective == Collective::gatherv) out = at_root ? total : 0;
                if (call.draw.collective == Collective::scatterv) in = at_root ? total : 0;
                break;
            case Collective::alltoallv:
                in = out = 0;
                for (int r = 0; r < comm.size(); ++r) {
                    call.counts.push_back(uneven(call.draw, self, r));
                    call.received.push_back(uneven(call.draw, r, self));
                    in += call.counts.back();
                    out += call.received.back();
                }
                break;
            case Collective::barrier:
                in = out = 0;
                break;
            default:
                break;
        }
        call.in.resize(in);
        for (std::size_t i = 0; i < in; ++i) call.in[i] = storm_value(call.number, self, i);
        call.out.assign(out, ~Value{0});
        if (call.draw.collective == Collective::broadcast && at_root) call.out = call.in;
    }

    /// Runs the call in this thread, or returns with the operation in flight.
    Request start(Call& call) {
#define SINEW_STORM_CALL(name, ...) \
    return call.draw.blocking ? (comm.name(__VA_ARGS__), Request()) : comm.i##name(__VA_ARGS__)
        Communicator& comm = communicator(call.draw);
        ReduceOp const& op = call.draw.largest ? max : sum;
        CallOptions const with{.algorithm = call.draw.algorithm, .timeout = long_time};
        int const root = call.draw.root;
        switch (call.draw.collective) {
            case Collective::allreduce:
                SINEW_STORM_CALL(allreduce, call.in, call.out, op, with);
            case Collective::reduce_scatter:
                SINEW_STORM_CALL(reduce_scatter, call.in, call.out, call.counts, op, with);
            case Collective::reduce_scatter_block:
                SINEW_STORM_CALL(reduce_scatter_block, call.in, call.out, op, with);
            case Collective::allgather:
                SINEW_STORM_CALL(allgather, call.in, call.out, with);
            case Collective::allgatherv:
                SINEW_STORM_CALL(allgatherv, call.in, call.out, call.counts, with);
            case Collective::broadcast:
                SINEW_STORM_CALL(broadcast, call.out, root, with);
            case Collective::reduce:
                SINEW_STORM_CALL(reduce, call.in, call.out, op, root, with);
            case Collective::gather:
                SINEW_STORM_CALL(gather, call.in, call.out, root, with);
            case Collective::gatherv:
                SINEW_STORM_CALL(gatherv, call.in, call.out, call.counts, root, with);
            case Collective::scatter:
                SINEW_STORM_CALL(scatter, call.in, call.out, root, with);
            case Collective::scatterv:
                SINEW_STORM_CALL(scatterv, call.in, call.out, call.counts, root, with);
            case Collective::alltoall:
                SINEW_STORM_CALL(alltoall, call.in, call.out, with);
            case Collective::alltoallv:
                SINEW_STORM_CALL(alltoallv, call.in, call.counts, call.out, call.received, with);
            case Collective::scan:
                SINEW_STORM_CALL(scan, call.in, call.out, op, with);
            case Collective::exscan:
                SINEW_STORM_CALL(exscan, call.in, call.out, op, with);
            case Collective::barrier:
                SINEW_STORM_CALL(barrier, with);
        }
#undef SINEW_STORM_CALL
        return {};
    }

    void check(Call& call) {
        Communicator& comm = communicator(call.draw);
        int const self = comm.rank(), size = comm.size();
        std::size_t const count = call.draw.count;
        std::size_t at = 0;  // position in this rank's output
        auto const expect = [&](Value wanted) {
            if (call.out.at(at++) != wanted) fail(call, at - 1);
        };
        auto const expect_moved = [&](int from, std::size_t first, std::size_t elements) {
            for (std::size_t i = 0; i < elements; ++i)
                expect(storm_value(call.number, from, first + i));
        };
        auto const expect_reduced = [&](int last, std::size_t first, std::size_t elements) {
            for (std::size_t i = first; i < first + elements; ++i) {
                Value all = storm_value(call.number, 0, i);
                for (int r = 1; r <= last; ++r) {
                    Value const one = storm_value(call.number, r, i);
                    all = call.draw.largest ? std::max(all, one) : all + one;
                }
                expect(all);
            }
        };
        auto const before_own = [&] {
            std::size_t first = 0;
            for (int r = 0; r < self; ++r) first += part(call.draw, r);
            return first;
        };
        bool const at_root = self == call.draw.root;
        switch (call.draw.collective) {
            case Collective::reduce:
                if (!at_root) break;
                [[fallthrough]];
            case Collective::allreduce:
                expect_reduced(size - 1, 0, count);
                break;
            case Collective::scan:
                expect_reduced(self, 0, count);
                break;
            case Collective::exscan:
                if (self > 0) expect_reduced(self - 1, 0, count);
                else at = call.out.size();  // not changed
                break;
            case Collective::reduce_scatter:
                expect_reduced(size - 1, before_own(), part(call.draw, self));
                break;
            case Collective::reduce_scatter_block:
                expect_reduced(size - 1, count * static_cast<std::size_t>(self), count);
                break;
            case Collective::broadcast:
                expect_moved(call.draw.root, 0, count);
                break;
            case Collective::gather:
                if (!at_root) break;
                [[fallthrough]];
            case Collective::allgather:
                for (int r = 0; r < size; ++r) expect_moved(r, 0, count);
                break;
            case Collective::gatherv:
                if (!at_root) break;
                [[fallthrough]];
            case Collective::allgatherv:
                for (int r = 0; r < size; ++r) expect_moved(r, 0, part(call.draw, r));
                break;
            case Collective::scatter:
                expect_moved(call.draw.root, count * static_cast<std::size_t>(self), count);
                break;
            case Collective::scatterv:
                expect_moved(call.draw.root, before_own(), part(call.draw, self));
                break;
            case Collective::alltoall:
                for (int r = 0; r < size; ++r)
                    expect_moved(r, count * static_cast<std::size_t>(self), count);
                break;
            case Collective::alltoallv:
                for (int r = 0; r < size; ++r) {
                    std::size_t first = 0;  // position in that rank's input
                    for (int to = 0; to < self; ++to) first += uneven(call.draw, r, to);
                    expect_moved(r, first, uneven(call.draw, r, self));
                }
                break;
            case Collective::barrier:
                break;
        }
        if (at != call.out.size()) fail(call, at);
    }

    [[noreturn]] void fail(Call const& call, std::size_t at) {
        throw std::runtime_error(text(
            "storm ", seed_, ", call ", call.number, ", ", name(call.draw.collective), '(',
            call.draw.count, ") by \"", call.draw.algorithm, "\", root ", call.draw.root, ", ",
            call.draw.blocking ? "blocking" : "under way", ", on communicator ", call.draw.on,
            ": element ", at, " of ", call.out.size(), " is wrong on rank ", comms_[0]->rank()));
    }

    Communicator copy_, part_;
    std::vector<Communicator*> comms_;
    std::uint64_t seed_;
    std::uint64_t state_ = 0;  // random state of the current call
    std::deque<Call> under_way_;
};

}  // namespace

void run_storm(Communicator& comm, std::uint64_t seed, long calls) { Storm(comm, seed).run(calls); }

long calls_of_storm() {
    auto const wanted = env("SINEW_TEST_STORM");
    return wanted ? std::stol(*wanted) : 3000;
}

}  // namespace sinew::tests
