// SPDX-License-Identifier: Apache-2.0
#include "src/pmpi/repeated_calls.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iomanip>
#include <memory>
#include <new>
#include <numeric>
#include <sstream>
#include <vector>

#include "src/base/text.hpp"
#include "src/pmpi/comm_route.hpp"
#include "src/pmpi/inside.hpp"
#include "src/pmpi/real.hpp"

namespace sinew::pmpi {

namespace {

using namespace std::chrono_literals;
using Clock = Statistics::Clock;
using CallClass = Statistics::CallClass;

constexpr std::size_t most_classes = 12;
constexpr std::chrono::duration<double> budget = 500ms, batch_time = 1ms;
constexpr int fewest_pairs = 3, most_pairs = 51, most_calls = 16;
constexpr std::size_t most_buffer_bytes = std::size_t{256} << 20;

/// What rank 0 has decided of a class; calls in a batch, and batches of each kind.
struct Amount {
    int calls = 0, pairs = 0;
};

struct Seconds {
    double mpi = 0, ours = 0;  ///< of one call, the mean over the ranks of their medians
};

/// The buffers and counts of one class on one rank.
class RepeatedCall {
public:
    RepeatedCall(CallClass const& one, MPI_Comm comm)
        : function_(static_cast<MpiFunction>(one.function)), ranks_(static_cast<int>(one.ranks)),
          comm_(comm) {
        std::size_t const bytes = message_bytes(one);
        bool const floats = bytes % sizeof(float) == 0;
        element_ = floats ? MPI_FLOAT : MPI_SIGNED_CHAR;
        count_ = static_cast<int>(floats ? bytes / sizeof(float) : bytes);
        counts_.assign(static_cast<std::size_t>(ranks_), count_);
        for (int r = 0; r < ranks_; ++r) offsets_.push_back(r * count_);
        sent_.reset(new (std::nothrow) std::byte[buffer_bytes(one)]());
        received_.reset(new (std::nothrow) std::byte[buffer_bytes(one)]());
    }

    /// The mean of the class, in whole numbers of `float` unless it is shorter than one.
    static std::size_t message_bytes(CallClass const& one) {
        auto const mean = static_cast<std::size_t>(one.bytes / one.calls);
        return mean < sizeof(float) ? mean : mean / sizeof(float) * sizeof(float);
    }
    static std::size_t buffer_bytes(CallClass const& one) {
        return message_bytes(one) * static_cast<std::size_t>(one.ranks);
    }

    bool has_memory() const { return sent_ && received_; }
    /// Runs a batch and returns its seconds. Sets `failed` and stops if MPI returns an error.
    double run(bool ours, int calls, bool& failed) const {
        inside_barrier();
        auto const begin = Clock::now();
        for (int i = 0; i < calls && !failed; ++i) {
            if (ours) {
                failed = call<true>() != MPI_SUCCESS;
            } else {
                InsideGuard const guard;
                failed = call<false>() != MPI_SUCCESS;
            }
        }
        return std::chrono::duration<double>(Clock::now() - begin).count();
    }

private:
    void inside_barrier() const {
        InsideGuard const guard;
        real().Barrier(comm_);
    }

    // The names PMPI_ are those of this library: profiling tools do not see the calls.
#define SINEW_REPEAT(name, ...) (ours ? PMPI_##name(__VA_ARGS__) : real().name(__VA_ARGS__))
    template <bool ours>
    int call() const {
        void* const in = sent_.get();
        void* const out = received_.get();
        int const n = count_;
        int const* const counts = counts_.data();
        int const* const offsets = offsets_.data();
        MPI_Datatype const t = element_;
        switch (function_) {
            case MpiFunction::allreduce:
                return SINEW_REPEAT(Allreduce, in, out, n, t, MPI_SUM, comm_);
            case MpiFunction::reduce:
                return SINEW_REPEAT(Reduce, in, out, n, t, MPI_SUM, 0, comm_);
            case MpiFunction::reduce_scatter:
                return SINEW_REPEAT(Reduce_scatter, in, out, counts, t, MPI_SUM, comm_);
            case MpiFunction::reduce_scatter_block:
                return SINEW_REPEAT(Reduce_scatter_block, in, out, n, t, MPI_SUM, comm_);
            case MpiFunction::scan:
                return SINEW_REPEAT(Scan, in, out, n, t, MPI_SUM, comm_);
            case MpiFunction::exscan:
                return SINEW_REPEAT(Exscan, in, out, n, t, MPI_SUM, comm_);
            case MpiFunction::bcast:
                return SINEW_REPEAT(Bcast, out, n, t, 0, comm_);
            case MpiFunction::allgather:
                return SINEW_REPEAT(Allgather, in, n, t, out, n, t, comm_);
            case MpiFunction::allgatherv:
                return SINEW_REPEAT(Allgatherv, in, n, t, out, counts, offsets, t, comm_);
            case MpiFunction::gather:
                return SINEW_REPEAT(Gather, in, n, t, out, n, t, 0, comm_);
            case MpiFunction::gatherv:
                return SINEW_REPEAT(Gatherv, in, n, t, out, counts, offsets, t, 0, comm_);
            case MpiFunction::scatter:
                return SINEW_REPEAT(Scatter, in, n, t, out, n, t, 0, comm_);
            case MpiFunction::scatterv:
                return SINEW_REPEAT(Scatterv, in, counts, offsets, t, out, n, t, 0, comm_);
            case MpiFunction::alltoall:
                return SINEW_REPEAT(Alltoall, in, n, t, out, n, t, comm_);
            case MpiFunction::alltoallv:
                return SINEW_REPEAT(Alltoallv, in, counts, offsets, t, out, counts, offsets, t,
                                    comm_);
            case MpiFunction::barrier:
                return SINEW_REPEAT(Barrier, comm_);
            default:
                break;  // no time is counted of non-blocking calls
        }
        return MPI_ERR_ARG;
    }
#undef SINEW_REPEAT

    MpiFunction function_;
    int ranks_;
    MPI_Comm comm_;
    MPI_Datatype element_{};
    int count_ = 0;
    std::vector<int> counts_, offsets_;
    std::unique_ptr<std::byte[]> sent_, received_;
};

double median(std::vector<double>& values) {
    auto const middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    return *middle;
}

/// All ranks' classes, merged; only on rank 0.
std::vector<CallClass> gather_classes(MpiJob const& job) {
    InsideGuard const guard;
    constexpr int numbers = sizeof(CallClass) / sizeof(std::int64_t);
    std::vector<CallClass> const own = job.statistics().classes();
    int const length = static_cast<int>(own.size()) * numbers;
    std::vector<int> lengths(static_cast<std::size_t>(job.size())), offsets(lengths.size());
    real().Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
    std::exclusive_scan(lengths.begin(), lengths.end(), offsets.begin(), 0);
    std::vector<CallClass> all(
        static_cast<std::size_t>((offsets.back() + lengths.back()) / numbers));
    real().Gatherv(own.data(), length, MPI_INT64_T, all.data(), lengths.data(), offsets.data(),
                   MPI_INT64_T, 0, MPI_COMM_WORLD);
    return Statistics::merged(all);
}

/// The communicator of the first ranks of rank 0's node; MPI_COMM_NULL on other ranks.
MPI_Comm first_ranks_of_node(MpiJob const& job, int ranks) {
    InsideGuard const guard;
    int const first = job.local_rank_of(0) < 0 ? -1 : job.local_rank_of(job.rank());
    MPI_Comm comm = MPI_COMM_NULL;
    real().Comm_split(MPI_COMM_WORLD, first >= 0 && first < ranks ? 0 : MPI_UNDEFINED, first,
                      &comm);
    return comm;
}

/// Measures a class on the ranks of the communicator. Returns the reason if it could not be
/// measured: the same on all ranks unless a call has failed.
std::string measure(CallClass const& one, MPI_Comm comm, std::chrono::duration<double> share,
                    Seconds& result, bool& failed) {
    CallOutcome why_not{};
    if (find_route(comm, why_not) == nullptr) return "no memory is left for a communicator";
    RepeatedCall const repeated(one, comm);
    int const own = repeated.has_memory() ? 1 : 0;
    int all = 0;
    {
        InsideGuard const guard;
        real().Allreduce(&own, &all, 1, MPI_INT, MPI_MIN, comm);
    }
    if (all == 0) return "no memory is left for the buffers";

    // The first calls of each kind touch new memory. The time of the second ones decides.
    double pair = 0;
    for (int i = 0; i < 2 && !failed; ++i) {
        pair = repeated.run(false, 1, failed);
        if (!failed) pair += repeated.run(true, 1, failed);
    }
    if (failed) return "a call has failed";
    Amount amount;
    pair = std::max(pair, 1e-7);
    amount.calls =
        static_cast<int>(std::clamp(2 * batch_time.count() / pair, 1.0, 1.0 * most_calls));
    amount.pairs = static_cast<int>(
        std::clamp(share.count() / (pair * amount.calls), 1.0 * fewest_pairs, 1.0 * most_pairs));
    {
        InsideGuard const guard;
        real().Bcast(&amount, sizeof amount / sizeof(int), MPI_INT, 0, comm);
    }
    std::vector<double> mpi, ours;
    for (int i = 0; i < amount.pairs; ++i)
        for (bool const second : {false, true}) {
            bool const is_ours = second == (i % 2 == 0);
            double const seconds = repeated.run(is_ours, amount.calls, failed) / amount.calls;
            if (failed) return "a call has failed";
            (is_ours ? ours : mpi).push_back(seconds);
        }
    std::array const medians{median(mpi), median(ours)};
    std::array<double, 2> sums{};
    InsideGuard const guard;
    real().Reduce(medians.data(), sums.data(), sums.size(), MPI_DOUBLE, MPI_SUM, 0, comm);
    auto const ranks = static_cast<double>(one.ranks);
    result = {sums[0] / ranks, sums[1] / ranks};
    return {};
}

std::string size_text(std::size_t bytes) {
    std::ostringstream out;
    out << std::setprecision(4);
    auto const number = static_cast<double>(bytes);
    if (bytes < 1024) out << bytes << " B";
    else if (bytes < 1024 * 1024) out << number / 1024 << " KiB";
    else out << number / (1024 * 1024) << " MiB";
    return out.str();
}

std::string microseconds_text(double seconds) {
    std::ostringstream out;
    out << std::setprecision(4) << seconds * 1e6 << " us";
    return out.str();
}

/// Why rank 0 leaves a class out; empty if it does not.
std::string obstacle(MpiJob const& job, CallClass const& one) {
    if (job.local_size() < one.ranks)
        return text("the node of rank 0 has only ", job.local_size(), " ranks");
    if (RepeatedCall::buffer_bytes(one) > most_buffer_bytes)
        return text("its buffers are longer than ", size_text(most_buffer_bytes));
    return {};
}

/// What rank 0 lets all ranks do next.
struct Step {
    CallClass one;
    std::int64_t run = 0;  ///< 0: no more classes
};

/// Returns the step of rank 0.
Step announce(Step step) {
    InsideGuard const guard;
    real().Bcast(&step, sizeof step / sizeof(std::int64_t), MPI_INT64_T, 0, MPI_COMM_WORLD);
    return step;
}

/// Measures a class on those ranks that it takes; `result` is rank 0's. As `measure`.
std::string repeat(MpiJob const& job, CallClass const& one, std::chrono::duration<double> share,
                   Seconds& result, bool& failed) {
    MPI_Comm comm = first_ranks_of_node(job, static_cast<int>(one.ranks));
    if (comm == MPI_COMM_NULL) return {};
    std::string why_not = measure(one, comm, share, result, failed);
    InsideGuard const guard;
    if (!failed) real().Comm_free(&comm);
    return why_not;
}

double seconds_of(CallClass const& one) { return static_cast<double>(one.nanoseconds) * 1e-9; }

}  // namespace

std::string time_saved(MpiJob const& job) {
    auto const begin = Clock::now();
    std::vector<CallClass> hot = gather_classes(job);
    double total = 0, measured = 0, saved = 0;
    for (CallClass const& one : hot) total += seconds_of(one);
    hot.resize(std::min(hot.size(), most_classes));
    std::ostringstream lines;
    bool failed = false;
    for (std::size_t left = hot.size(); left > 0 && !failed; --left) {
        CallClass const& one = hot[hot.size() - left];
        auto const rest = budget - (Clock::now() - begin);
        std::string why_not = obstacle(job, one);
        if (why_not.empty() && rest.count() <= 0) why_not = "the others took too long";
        Seconds seconds;
        if (why_not.empty()) {
            announce({one, 1});
            why_not = repeat(job, one, rest / static_cast<double>(left), seconds, failed);
        }
        lines << "sinew:     " << name_of(static_cast<MpiFunction>(one.function)) << ", "
              << size_text(RepeatedCall::message_bytes(one)) << " on " << one.ranks
              << " ranks: " << one.calls << " calls, ";
        if (why_not.empty()) {
            measured += seconds_of(one);
            saved += static_cast<double>(one.calls) * (seconds.mpi - seconds.ours);
            lines << "MPI " << microseconds_text(seconds.mpi) << ", sinew "
                  << microseconds_text(seconds.ours) << '\n';
        } else {
            lines << "not measured again: " << why_not << '\n';
        }
    }
    // On the other ranks, the loop is this one.
    for (Step step; job.rank() != 0 && !failed && (step = announce({})).run != 0;) {
        Seconds unused;
        repeat(job, step.one, {}, unused, failed);
    }
    if (job.rank() == 0 && !failed) announce({});
    if (hot.empty()) return {};
    std::ostringstream first;
    first << std::fixed;
    if (measured == 0) first << "sinew: the time saved is not known:\n";
    else
        first << "sinew: " << (saved < 0 ? "lost" : "saved") << " about " << std::setprecision(6)
              << std::abs(saved) << " s (measured again at MPI_Finalize: calls like those of "
              << std::setprecision(0) << std::floor(100 * measured / total) << " % of the time):\n";
    return first.str() + lines.str();
}

}  // namespace sinew::pmpi
