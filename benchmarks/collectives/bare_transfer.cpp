// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/collectives/bare_transfer.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "benchmarks/collectives/results/limit.hpp"
#include "benchmarks/support/statistics.hpp"
#include "benchmarks/support/stopwatch.hpp"

namespace sinew::bench {

namespace {

/// For less, the system call alone takes longer.
constexpr std::size_t least_read = std::size_t{16} << 10;
/// Results that stay in the caches are not stored past them.
constexpr std::size_t least_past_cache = std::size_t{1} << 20;
constexpr std::size_t short_piece = std::size_t{16} << 10, line = 64;
constexpr std::size_t least_timings = 3, most_timings = 30, bytes_timed = std::size_t{8} << 20;
constexpr std::size_t most_in_sequence = 32, bytes_in_sequence = std::size_t{256} << 10;

/// Of a call with a root, or a scan, the rank that gives what another one gets.
int giver_of(Collective collective) {
    bool const to_root = collective == Collective::reduce || collective == Collective::gather ||
                         collective == Collective::gatherv;
    return to_root ? 1 - Problem::root : Problem::root;
}

/// Whether the root's vector is longer than those of the others.
bool gathers_or_scatters(Collective collective) {
    return collective == Collective::gather || collective == Collective::gatherv ||
           collective == Collective::scatter || collective == Collective::scatterv;
}

/// The ways through shared memory. `pass(way)` passes the message.
template <class Pass>
void add_stored(std::size_t bytes, std::vector<std::function<void()>>& ways, Pass const& pass) {
    auto const all = copy_ways();
    for (CopyWay const& in : bytes < line ? all.first(1) : all)
        for (CopyWay const& out : bytes < least_past_cache ? all.first(1) : all)
            for (std::size_t const piece : {ProcessorPair::largest_piece, short_piece})
                if (piece != short_piece || bytes > short_piece)
                    ways.push_back([&in, &out, piece, pass] {
                        pass(ProcessorPair::Stored{in, out, piece});
                    });
}

}  // namespace

BareTransfer::BareTransfer(Communicator& comm, bool oversubscribed, std::function<void()> sync)
    : comm_(comm), oversubscribed_(oversubscribed), sync_(std::move(sync)), pair_(comm) {}

bool BareTransfer::works() { return comm_.allreduce_value(pair_.meets() ? 1 : 0, min) != 0; }

/// The bytes that ranks 0 and 1 pass each other. A rank whose own vector is shorter has the other one; what it has of the result itself
/// goes behind.
BareTransfer::Passed BareTransfer::passed(Workload const& load) {
    Problem const& problem = load.problem();
    std::size_t const bytes = problem.bytes();
    auto const count = [&](double (&least)(Collective, int, std::size_t)) {
        return static_cast<std::size_t>(least(problem.collective, problem.ranks, bytes));
    };
    Passed passed;
    passed.one_way = least_handed_over(problem.collective, 2, bytes) > 0;
    passed.own = count(least_copied);
    std::size_t length = count(passed.one_way ? least_handed_over : least_exchanged);
    if (problem.collective == Collective::barrier) length = 0;
    passed.message = {load.out_bytes(), load.in_bytes(), length};
    if (load.in().bytes() < length) passed.message.from = load.out_bytes();
    if (load.out().bytes() < length) passed.message.to = load.in_bytes();
    std::array<std::uintptr_t, 1> const from{reinterpret_cast<std::uintptr_t>(passed.message.from)};
    std::vector<std::uintptr_t> all(static_cast<std::size_t>(problem.ranks));
    comm_.allgather(std::span(from), std::span(all));
    if (pair_) passed.message.other_from = all[static_cast<std::size_t>(1 - problem.rank)];
    return passed;
}

std::vector<BareTransfer::Call> BareTransfer::transfers(Workload const& load) {
    Collective const collective = load.problem().collective;
    Passed const each = passed(load);
    ProcessorPair::Message const message = each.message;
    std::size_t const own = each.own;
    bool const reads =
        pair_.reads_private() && message.bytes >= least_read && !is_reduction(collective);
    std::vector<Call> calls;
    if (each.one_way) {
        int const giver = giver_of(collective);
        add_stored(message.bytes, calls, [=, this](ProcessorPair::Stored const& way) {
            pair_.hand_over(message, giver, way);
        });
        if (reads) calls.push_back([=, this] { pair_.hand_over_by_kernel(message, giver); });
    } else {
        std::byte* const to = load.out_bytes() + message.bytes;
        std::byte const* const from = load.in_bytes();
        add_stored(message.bytes, calls, [=, this](ProcessorPair::Stored const& way) {
            pair_.exchange(message, way);
            if (own > 0 && own % line == 0) way.out.copy(to, from, own);
            else if (own > 0) std::memcpy(to, from, own);
        });
        if (reads)
            calls.push_back([=, this] {
                pair_.exchange_by_kernel(message);
                if (own > 0) std::memcpy(to, from, own);
            });
    }
    if (!pair_) std::fill(calls.begin(), calls.end(), [] {});
    return calls;
}

std::vector<BareTransfer::Call> BareTransfer::copies(Workload const& load) {
    Problem const& problem = load.problem();
    auto const bytes = static_cast<std::size_t>(
        least_traffic(problem.collective, problem.ranks, problem.bytes()) / 2 / problem.ranks);
    std::vector<Call> calls;
    if (bytes == 0 || bytes % line != 0) return calls;
    bool const enough = load.in().bytes() >= bytes && load.out().bytes() >= bytes;
    if (comm_.allreduce_value(enough ? 1 : 0, min) == 0) return calls;
    bool const meets = !oversubscribed_ && pair_;
    for (CopyWay const& way : copy_ways())
        calls.push_back([&way, bytes, meets, this, to = load.out_bytes(), from = load.in_bytes()] {
            if (meets) pair_.meet();
            way.copy(to, from, bytes);
            if (meets) pair_.meet();
        });
    return calls;
}

double BareTransfer::median_us(Call const& call, Workload const& load, Variant variant) {
    std::size_t const bytes = std::max<std::size_t>(load.problem().bytes(), line);
    std::size_t const timings = std::clamp(bytes_timed / bytes, least_timings, most_timings);
    std::size_t const calls =
        std::clamp<std::size_t>(bytes_in_sequence / bytes, 1, most_in_sequence);
    std::vector<double> us;
    for (std::size_t i = 0; i <= timings; ++i) {
        double seconds = 0;
        for (std::size_t begun = 0; begun < calls;) {
            if (variant == Variant::live) load.live();
            sync_();
            std::size_t const end = variant == Variant::live ? begun + 1 : calls;
            Stopwatch const watch;
            for (; begun < end; ++begun) call();
            seconds += watch.seconds();
        }
        if (i > 0) us.push_back(seconds * 1e6 / static_cast<double>(calls));
    }
    return comm_.allreduce_value(median(us), max);
}

std::optional<BareTransfer::Call> BareTransfer::fastest(Workload const& load, Variant variant,
                                                        bool zero_copy) {
    if (!zero_copy && (!pair_.everywhere() || oversubscribed_)) return {};
    bool const root_has_all = gathers_or_scatters(load.problem().collective);
    if (!zero_copy && root_has_all && load.problem().ranks > 2) return {};
    // Its ranks read what others have written, and write what others read: see VectorMemory::shared.
    if (zero_copy && load.problem().collective == Collective::allreduce) return {};
    std::optional<Call> best;
    double least = 0;
    for (Call const& call : zero_copy ? copies(load) : transfers(load)) {
        double const us = median_us(call, load, variant);
        if (!works()) return {};
        if (!best || us < least) best = call, least = us;
    }
    return best;
}

}  // namespace sinew::bench
