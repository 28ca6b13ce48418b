// SPDX-License-Identifier: Apache-2.0
// Compares every reducing algorithm of the catalogue with combining the ranks one after the other.
#include <set>

#include "tests/collectives/operations.hpp"

namespace sinew::collectives::testing {
namespace {

/// The call of one rank.
template <class T>
class ReductionCall {
public:
    ReductionCall(Channel& channel, Algorithm const& algorithm, Layout const& layout,
                  std::vector<std::vector<T>> const& prefixes, Pace pace)
        : channel_(channel), algorithm_(algorithm), layout_(layout), prefixes_(prefixes),
          rank_(channel.rank()), input_(fenced(input_of<T>(rank_, layout.extent))),
          op_(Operation<T>::op()), reducer_(op_, data_type_of<T>()),
          call_(arguments(scratch_, pace, sizeof(T))) {
        call_.count = layout.extent;
        call_.reduce = &reducer_;
    }

    void allreduce(bool in_place) { one_to_one(in_place, fenced(prefixes_.back())); }
    void scan(bool in_place) { one_to_one(in_place, fenced(prefix(rank_))); }
    void exscan(bool in_place) {
        if (rank_ > 0) one_to_one(in_place, fenced(prefix(rank_ - 1)));
        else one_to_one(in_place, in_place ? input_ : untouched<T>(input_.size()));
    }
    void reduce(bool in_place, int root) {
        call_.root = root;
        if (rank_ == root) return one_to_one(in_place, fenced(prefixes_.back()));
        std::vector<T> in = input_;
        call_.in = bytes_of(in);
        run();
        expect(in, input_);
    }
    void reduce_scatter(bool listed) {
        std::size_t const count = layout_.count(rank_);
        auto const own = prefixes_.back().begin() + static_cast<long>(layout_.offset(rank_));
        std::vector<T> in = input_, out = untouched<T>(count + 1);
        call_.in = bytes_of(in);
        call_.out = bytes_of(out);
        call_.count = count;
        call_.blocks = listed ? layout_.blocks(sizeof(T)) : Blocks::equal(count, sizeof(T));
        run();
        expect(out, fenced(std::vector<T>(own, own + static_cast<long>(count))));
        expect(in, input_);
    }

private:
    std::vector<T> const& prefix(int rank) const {
        return prefixes_[static_cast<std::size_t>(rank)];
    }
    void one_to_one(bool in_place, std::vector<T> const& wanted) {
        std::vector<T> in = input_, out = in_place ? in : untouched<T>(in.size());
        call_.in = bytes_of(in_place ? out : in);
        call_.out = bytes_of(out);
        run();
        expect(out, wanted);
        expect(in, input_);
    }
    void run() {
        algorithm_.run(channel_, call_);
        scratch_.release();
    }
    void expect(std::vector<T> const& got, std::vector<T> const& wanted) const {
        SCOPED_TRACE(text("rank ", rank_, ", count ", layout_.extent, ", root ", call_.root,
                          ", segment ", call_.segment, call_.in == call_.out ? ", in place" : ""));
        expect_same(got, wanted, Operation<T>::same);
    }

    Channel& channel_;
    Algorithm const& algorithm_;
    Layout const& layout_;
    std::vector<std::vector<T>> const& prefixes_;
    int rank_;
    std::vector<T> input_;
    ReduceOp op_;
    Reducer reducer_;
    Scratch scratch_;
    Arguments call_;
};

template <class T>
void make_calls(Channel& channel, Algorithm const& algorithm, Layout const& layout,
                std::vector<std::vector<T>> const& prefixes) {
    int const ranks = channel.size();
    for (Pace const pace : paces)
        for (bool const in_place : {false, true}) {
            ReductionCall<T> call(channel, algorithm, layout, prefixes, pace);
            switch (algorithm.collective) {
                case Collective::allreduce:
                    call.allreduce(in_place);
                    break;
                case Collective::scan:
                    call.scan(in_place);
                    break;
                case Collective::exscan:
                    call.exscan(in_place);
                    break;
                case Collective::reduce:
                    for (int const root : std::set{0, ranks / 2, ranks - 1})
                        call.reduce(in_place, root);
                    break;
                case Collective::reduce_scatter:
                    if (!in_place) call.reduce_scatter(true);
                    break;
                case Collective::reduce_scatter_block:
                    if (!in_place) call.reduce_scatter(false);
                    break;
                default:
                    FAIL() << "is no reduction";
            }
        }
}

class Reductions : public ::testing::TestWithParam<Entry> {
protected:
    template <class T>
    void check() {
        auto const [algorithm, ranks] = GetParam();
        bool const commutative = Operation<T>::op().commutative();
        if (!algorithm->applies(shape_of(ranks, commutative))) return;
        for (std::size_t const count : counts_to_try(ranks)) {
            Layout const layout = layout_of(count);
            auto const prefixes = prefixes_of_inputs<T>(ranks, layout.extent);
            run_ranks(ranks, [&, &algorithm = *algorithm](Channel& channel) {
                make_calls<T>(channel, algorithm, layout, prefixes);
            });
        }
    }

private:
    static Layout layout_of(std::size_t count) {
        int const ranks = GetParam().ranks;
        switch (GetParam().algorithm->collective) {
            case Collective::reduce_scatter:
                return Layout::ragged(ranks, count);
            case Collective::reduce_scatter_block:
                return Layout::equal(ranks, count);
            default:
                return Layout::equal(1, count);
        }
    }
};

TEST_P(Reductions, SumFloats) { check<float>(); }
TEST_P(Reductions, SumIntegers) { check<std::int32_t>(); }
TEST_P(Reductions, KeepRankOrderWhereTheOperationDoesNotCommute) { check<Matrix>(); }

INSTANTIATE_TEST_SUITE_P(Catalogue, Reductions,
                         ::testing::ValuesIn(entries({Collective::allreduce, Collective::reduce,
                                                      Collective::reduce_scatter,
                                                      Collective::reduce_scatter_block,
                                                      Collective::scan, Collective::exscan})),
                         name_of);

}  // namespace
}  // namespace sinew::collectives::testing
