// SPDX-License-Identifier: Apache-2.0
// Floating-point reductions give the same bits on all ranks, in every run, in every form of the
// call, and with every cost model.
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

#include "src/comm/communicator_state.hpp"
#include "src/comm/node_layout.hpp"
#include "src/transport/thread_transport.hpp"
#include "tests/comm/ranks.hpp"

namespace sinew::tests {
namespace {

using collectives::Model;

/// Each rank counts as a separate node, so that the ring algorithm begins at smaller sizes.
void run(int ranks, std::function<void(Communicator&)> const& body) {
    run_thread_ranks({.ranks = ranks, .ranks_per_node = 1}, body);
}

/// As run(), with the given cost model.
void run_with(Model const& model, int ranks, std::function<void(Communicator&)> const& body) {
    ThreadHub hub(ranks);
    std::vector<NodeIdentity> nodes;
    for (int rank = 0; rank < ranks; ++rank)
        nodes.push_back(NodeIdentity::named(std::to_string(rank), "node"));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank)
        threads.emplace_back([&, rank] {
            try {
                Communicator comm(std::make_shared<detail::CommunicatorState>(
                    std::make_unique<ThreadTransport>(hub, rank),
                    detail::make_node_layout(nodes, rank), detail::Engine::make(Threading::any),
                    std::make_shared<collectives::Tuners>(model, ""),
                    detail::CommonSettings::from_environment(),
                    std::vector<detail::Locality>(nodes.size()), nullptr));
                body(comm);
            } catch (std::exception const& error) {
                ADD_FAILURE() << "rank " << rank << ": " << error.what();
                hub.lose(rank);
            }
        });
    for (auto& thread : threads) thread.join();
}

/// Machine models with different fastest algorithms.
std::vector<Model> models() {
    using collectives::Level;
    Level slow_messages, slow_bytes, plain;
    for (double& seconds : slow_messages.seconds) seconds = 1e-2 + seconds * 1e-3;
    for (std::size_t i = 0; i < Level::sizes.size(); ++i)
        slow_bytes.seconds[i] = 1e-9 + 1e-6 * static_cast<double>(Level::sizes[i]);
    slow_bytes.segment = 1000;
    slow_bytes.window = 2;
    plain.segment = 131072;
    plain.window = 1;
    Model slow_reduction(plain);
    slow_reduction.reduce_per_byte = 1e-5;
    return {Model(slow_messages), Model(slow_bytes), slow_reduction};
}

/// Values of both signs and of very different magnitudes, so that every order of addition rounds
/// differently.
template <class T>
std::vector<T> values(int rank, std::size_t count) {
    std::minstd_rand random(static_cast<unsigned>(rank) * 7919 + 1);
    int const exponents = sizeof(T) == 2 ? 8 : 30;
    std::uniform_int_distribution<int> exponent(-exponents, exponents);
    std::uniform_real_distribution<double> mantissa(-2, 2);
    std::vector<T> data(count);
    for (T& value : data)
        value = T(static_cast<float>(std::ldexp(mantissa(random), exponent(random))));
    return data;
}

enum class Form { between, in_place, non_blocking };

/// The results of this rank for each reducing collective, as bytes, by name.
using Results = std::vector<std::pair<char const*, std::string>>;

/// Calls every reducing collective in one form.
template <class T>
class Calls {
public:
    Calls(Communicator& comm, std::size_t count, Form form, ReduceOp const& op)
        : comm_(comm), form_(form), op_(op),
          in_(values<T>(comm.rank(), count * static_cast<std::size_t>(comm.size()))),
          parts_(static_cast<std::size_t>(comm.size()), count) {
        parts_.front() += count / 2;  // parts of different sizes
        parts_.back() -= count / 2;
    }

    Results all() {
        allreduce();
        reduce();
        reduce_scatter();
        reduce_scatter_block();
        scan();
        exscan();
        return results_;
    }

private:
    std::size_t own() const { return parts_[static_cast<std::size_t>(comm_.rank())]; }
    void keep(char const* name, std::vector<T> const& data, std::size_t count) {
        results_.emplace_back(
            name, std::string(reinterpret_cast<char const*>(data.data()), count * sizeof(T)));
    }
    /// `call` gets the input and room for `count` results, which may be the same memory; `start`
    /// likewise.
    template <class Between, class InPlace, class Start>
    void run(char const* name, std::size_t count, Between between, InPlace in_place, Start start) {
        std::vector<T> data = in_, out(count);
        if (form_ == Form::in_place) in_place(data);
        else if (form_ == Form::between) between(out);
        else start(out).wait();
        keep(name, form_ == Form::in_place ? data : out, count);
    }

    void allreduce() {
        run(
            "allreduce", in_.size(), [&](auto& out) { comm_.allreduce(in_, out, op_); },
            [&](auto& data) { comm_.allreduce(data, op_); },
            [&](auto& out) { return comm_.iallreduce(in_, out, op_); });
    }
    void reduce() {
        int const root = comm_.size() - 1;
        run(
            "reduce", comm_.rank() == root ? in_.size() : 0,
            [&](auto& out) { comm_.reduce(in_, out, op_, root); },
            [&](auto& data) { comm_.reduce(data, op_, root); },
            [&](auto& out) { return comm_.ireduce(in_, out, op_, root); });
    }
    void reduce_scatter() {
        run(
            "reduce_scatter", own(),
            [&](auto& out) { comm_.reduce_scatter(in_, out, parts_, op_); },
            [&](auto& data) { comm_.reduce_scatter(data, parts_, op_); },
            [&](auto& out) { return comm_.ireduce_scatter(in_, out, parts_, op_); });
    }
    void reduce_scatter_block() {
        run(
            "reduce_scatter_block", in_.size() / parts_.size(),
            [&](auto& out) { comm_.reduce_scatter_block(in_, out, op_); },
            [&](auto& data) { comm_.reduce_scatter_block(data, op_); },
            [&](auto& out) { return comm_.ireduce_scatter_block(in_, out, op_); });
    }
    void scan() {
        run(
            "scan", in_.size(), [&](auto& out) { comm_.scan(in_, out, op_); },
            [&](auto& data) { comm_.scan(data, op_); },
            [&](auto& out) { return comm_.iscan(in_, out, op_); });
    }
    void exscan() {
        run(
            "exscan", in_.size(), [&](auto& out) { comm_.exscan(in_, out, op_); },
            [&](auto& data) { comm_.exscan(data, op_); },
            [&](auto& out) { return comm_.iexscan(in_, out, op_); });
        if (comm_.rank() == 0) results_.pop_back();  // rank 0 has no result
    }

    Communicator& comm_;
    Form form_;
    ReduceOp op_;
    std::vector<T> in_;
    std::vector<std::size_t> parts_;
    Results results_;
};

void expect_same(Results const& left, Results const& right, std::string const& what) {
    ASSERT_EQ(left.size(), right.size());
    for (std::size_t i = 0; i < left.size(); ++i)
        EXPECT_TRUE(left[i].second == right[i].second) << left[i].first << ' ' << what;
}

/// Number of ranks, and number of elements: the largest is above Tuner::ring_border, the others are
/// below.
class Determinism : public testing::TestWithParam<std::tuple<int, std::size_t>> {
protected:
    int ranks() const { return std::get<0>(GetParam()); }
    std::size_t whole() const { return std::get<1>(GetParam()); }
    /// The number of elements of one rank's part.
    std::size_t count() const { return whole() / static_cast<std::size_t>(ranks()); }

    template <class T>
    void expect_same_bits(ReduceOp const& op) {
        std::vector<Results> first(static_cast<std::size_t>(ranks()));
        auto const mine = [&](Communicator& comm) -> Results& {
            return first[static_cast<std::size_t>(comm.rank())];
        };
        run(ranks(), [&](Communicator& comm) {
            auto const results = [&](Form form) { return Calls<T>(comm, count(), form, op).all(); };
            mine(comm) = results(Form::between);
            expect_same(mine(comm), results(Form::between), "again");
            expect_same(mine(comm), results(Form::in_place), "in place");
            expect_same(mine(comm), results(Form::non_blocking), "non-blocking");
        });
        for (Results const& results : first)
            EXPECT_TRUE(results[0].second == first[0][0].second)
                << "allreduce differs between ranks";
        auto const again = [&](Communicator& comm) {
            expect_same(mine(comm), Calls<T>(comm, count(), Form::between, op).all(),
                        "in another run");
        };
        run(ranks(), again);
        for (Model const& model : models()) run_with(model, ranks(), again);
    }

    /// The same collectives on f32 inputs of equal values, rounded once at the end.
    template <class Half>
    void expect_one_rounding(ReduceOp const& op) {
        run(ranks(), [&](Communicator& comm) {
            auto const half = values<Half>(comm.rank(), whole());
            std::vector<float> wide(half.begin(), half.end());
            std::vector<Half> got(whole()), wanted(whole());
            comm.allreduce(half, got, op);
            comm.allreduce(wide, op);
            std::transform(wide.begin(), wide.end(), wanted.begin(),
                           [](float value) { return Half(value); });
            EXPECT_EQ(std::memcmp(got.data(), wanted.data(), whole() * sizeof(Half)), 0);
        });
    }
};

TEST_P(Determinism, OfF32) { expect_same_bits<float>(sum); }

class DeterminismOfOthers : public Determinism {};

TEST_P(DeterminismOfOthers, OfF64) { expect_same_bits<double>(prod); }
TEST_P(DeterminismOfOthers, OfF16) { expect_same_bits<float16>(average); }
TEST_P(DeterminismOfOthers, OfBf16) { expect_same_bits<bfloat16>(sum); }
TEST_P(DeterminismOfOthers, OfF16IsOneRounding) { expect_one_rounding<float16>(sum); }
TEST_P(DeterminismOfOthers, OfBf16IsOneRounding) { expect_one_rounding<bfloat16>(sum); }

using testing::Combine;
using testing::Values;
#if defined(SINEW_TEST_ASAN) || defined(SINEW_TEST_TSAN)
// Sanitizer builds look for memory errors and races, not for bits, and take minutes.
auto const all_ranks = Values(3, 8);
auto const others_ranks = Values(7);
#else
auto const all_ranks = Values(2, 3, 4, 5, 7, 8);
auto const others_ranks = Values(3, 4, 7);
#endif
INSTANTIATE_TEST_SUITE_P(Shapes, Determinism, Combine(all_ranks, Values(8U, 1111U, 70001U)));
INSTANTIATE_TEST_SUITE_P(Shapes, DeterminismOfOthers, Combine(others_ranks, Values(1111U, 70001U)));

}  // namespace
}  // namespace sinew::tests
