// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/comm/suite/suite_values.hpp"

namespace sinew::tests {

/// Makes calls of one type with one set of options and compares each with the reference.
template <class T>
class Suite {
public:
    Suite(Communicator& comm, std::size_t count, CallOptions options)
        : comm_(comm), rank_(comm.rank()), size_(comm.size()), count_(count), options_(options) {}

    void reductions(ReduceOp const& op) {
        allreduce(op);
        scan(op);
        exscan(op);
        reduce_scatter_block(op);
        reduce_scatter(op);
        for (int root : roots()) reduce(op, root);
    }

    void movements() {
        allgather();
        allgatherv();
        alltoall();
        alltoallv();
        for (int root : roots()) {
            broadcast(root);
            gather(root);
            gatherv(root);
            scatter(root);
            scatterv(root);
        }
    }

    void allreduce(ReduceOp const& op) {
        auto const in = mine(op, count_);
        auto const wanted = filled<T>(
            count_, [&](std::size_t i) { return reduced<T>(op.kind(), 0, size_ - 1, i); });
        std::vector<T> out(count_);
        comm_.allreduce(in, out, op, options_);
        expect_same(out, wanted, label("allreduce", op));
        out = in;
        comm_.allreduce(out, op, options_);
        expect_same(out, wanted, label("allreduce in place", op));
        std::vector<T> other(count_);
        out = in;
        Request first = comm_.iallreduce(in, other, op, options_);
        Request second = comm_.iallreduce(out, op, options_);
        second.wait();
        first.wait();
        expect_same(other, wanted, label("iallreduce", op));
        expect_same(out, wanted, label("iallreduce in place", op));
    }

    void reduce(ReduceOp const& op, int root) {
        auto const in = mine(op, count_);
        auto const wanted = filled<T>(
            count_, [&](std::size_t i) { return reduced<T>(op.kind(), 0, size_ - 1, i); });
        std::vector<T> out(rank_ == root ? count_ : 0);
        comm_.reduce(in, out, op, root, options_);
        if (rank_ == root) expect_same(out, wanted, label("reduce", op));
        out = in;
        comm_.ireduce(out, op, root, options_).wait();
        expect_same(out, rank_ == root ? wanted : in, label("reduce in place", op));
    }

    void scan(ReduceOp const& op) {
        auto const in = mine(op, count_);
        auto const wanted =
            filled<T>(count_, [&](std::size_t i) { return reduced<T>(op.kind(), 0, rank_, i); });
        std::vector<T> out(count_);
        comm_.scan(in, out, op, options_);
        expect_same(out, wanted, label("scan", op));
        out = in;
        comm_.iscan(out, op, options_).wait();
        expect_same(out, wanted, label("iscan in place", op));
    }

    void exscan(ReduceOp const& op) {
        auto const in = mine(op, count_);
        // The output of rank 0 is not changed.
        auto const wanted = filled<T>(count_, [&](std::size_t i) {
            return rank_ == 0 ? in[i] : reduced<T>(op.kind(), 0, rank_ - 1, i);
        });
        std::vector<T> out = in;
        comm_.exscan(out, op, options_);
        expect_same(out, wanted, label("exscan in place", op));
        out = in;
        comm_.iexscan(in, out, op, options_).wait();
        expect_same(out, wanted, label("iexscan", op));
    }

    void reduce_scatter_block(ReduceOp const& op) {
        auto const in = mine(op, count_ * n());
        auto const wanted = reduced_part(op, count_ * static_cast<std::size_t>(rank_), count_);
        std::vector<T> out(count_);
        comm_.reduce_scatter_block(in, out, op, options_);
        expect_same(out, wanted, label("reduce_scatter_block", op));
        out = in;
        comm_.ireduce_scatter_block(out, op, options_).wait();
        out.resize(count_);
        expect_same(out, wanted, label("reduce_scatter_block in place", op));
    }

    void reduce_scatter(ReduceOp const& op) {
        auto const counts = uneven();
        auto const in = mine(op, total(counts));
        auto const r = static_cast<std::size_t>(rank_);
        auto const wanted = reduced_part(op, before(counts, rank_), counts[r]);
        std::vector<T> out(counts[r]);
        comm_.reduce_scatter(in, out, counts, op, options_);
        expect_same(out, wanted, label("reduce_scatter", op));
        out = in;
        comm_.ireduce_scatter(out, counts, op, options_).wait();
        out.resize(counts[r]);
        expect_same(out, wanted, label("reduce_scatter in place", op));
    }

    void broadcast(int root) {
        auto const wanted = part_of(root, count_);
        std::vector<T> data = rank_ == root ? wanted : std::vector<T>(count_);
        comm_.broadcast(data, root, options_);
        expect_same(data, wanted, label("broadcast"));
        data = rank_ == root ? wanted : std::vector<T>(count_);
        comm_.ibroadcast(data, root, options_).wait();
        expect_same(data, wanted, label("ibroadcast"));
    }

    void allgather() {
        std::vector<T> out(count_ * n());
        auto const mine_ = part_of(rank_, count_);
        comm_.allgather(mine_, out, options_);
        expect_same(out, everyone(), label("allgather"));
        std::vector<T> data(count_ * n());
        auto const own = part_of(rank_, count_);
        std::copy(own.begin(), own.end(),
                  data.begin() + static_cast<std::ptrdiff_t>(count_) * rank_);
        comm_.iallgather(data, options_).wait();
        expect_same(data, everyone(), label("allgather in place"));
    }

    void allgatherv() {
        auto const counts = uneven();
        auto const own = part_of(rank_, counts[static_cast<std::size_t>(rank_)]);
        std::vector<T> out(total(counts));
        comm_.allgatherv(own, out, counts, options_);
        expect_same(out, everyone(counts), label("allgatherv"));
        // Parts in reverse order, given by offsets, in place.
        std::vector<std::size_t> offsets(n());
        for (std::size_t r = 0; r < n(); ++r)
            offsets[r] = total(counts) - before(counts, static_cast<int>(r)) - counts[r];
        std::vector<T> data(total(counts));
        std::copy(
            own.begin(), own.end(),
            data.begin() + static_cast<std::ptrdiff_t>(offsets[static_cast<std::size_t>(rank_)]));
        comm_.iallgatherv(data, Parts(counts, offsets), options_).wait();
        for (int r = 0; r < size_; ++r) {
            auto const at =
                data.begin() + static_cast<std::ptrdiff_t>(offsets[static_cast<std::size_t>(r)]);
            std::size_t const length = counts[static_cast<std::size_t>(r)];
            expect_same(std::vector<T>(at, at + static_cast<std::ptrdiff_t>(length)),
                        part_of(r, length), label("allgatherv with offsets"));
        }
    }

    void gather(int root) {
        auto const own = part_of(rank_, count_);
        std::vector<T> out(rank_ == root ? count_ * n() : 0);
        comm_.gather(own, out, root, options_);
        if (rank_ == root) expect_same(out, everyone(), label("gather"));
        std::vector<T> data = own;
        if (rank_ == root) {
            data.assign(count_ * n(), T{});
            std::copy(own.begin(), own.end(),
                      data.begin() + static_cast<std::ptrdiff_t>(count_) * rank_);
        }
        comm_.igather(data, root, options_).wait();
        expect_same(data, rank_ == root ? everyone() : own, label("gather in place"));
    }

    void gatherv(int root) {
        auto const counts = uneven();
        auto const own = part_of(rank_, counts[static_cast<std::size_t>(rank_)]);
        std::vector<T> out(rank_ == root ? total(counts) : 0);
        comm_.gatherv(own, out, counts, root, options_);
        if (rank_ == root) expect_same(out, everyone(counts), label("gatherv"));
        std::vector<T> again(out.size());
        comm_.igatherv(own, again, counts, root, options_).wait();
        expect_same(again, out, label("igatherv"));
    }

    void scatter(int root) {
        std::vector<T> const all = rank_ == root ? everyone() : std::vector<T>{};
        std::vector<T> out(count_);
        comm_.scatter(all, out, root, options_);
        expect_same(out, part_of(rank_, count_), label("scatter"));
        std::vector<T> data = rank_ == root ? all : std::vector<T>(count_);
        comm_.iscatter(data, root, options_).wait();
        expect_same(data, rank_ == root ? all : part_of(rank_, count_), label("scatter in place"));
    }

    void scatterv(int root) {
        auto const counts = uneven();
        std::vector<T> const all = rank_ == root ? everyone(counts) : std::vector<T>{};
        std::vector<T> out(counts[static_cast<std::size_t>(rank_)]);
        comm_.scatterv(all, out, counts, root, options_);
        expect_same(out, part_of(rank_, out.size()), label("scatterv"));
        std::vector<T> again(out.size());
        comm_.iscatterv(all, again, counts, root, options_).wait();
        expect_same(again, out, label("iscatterv"));
    }

    void alltoall() {
        auto const wanted = crossing([&](int from) { return cross(from, rank_, count_); });
        auto const in = crossing([&](int to) { return cross(rank_, to, count_); });
        std::vector<T> out(in.size());
        comm_.alltoall(in, out, options_);
        expect_same(out, wanted, label("alltoall"));
        out = in;
        comm_.ialltoall(out, options_).wait();
        expect_same(out, wanted, label("alltoall in place"));
    }

    void alltoallv() {
        // Rank s sends rank d count_ + s + 2 d elements.
        auto const length = [&](int from, int to) {
            return count_ + static_cast<std::size_t>(from + 2 * to);
        };
        std::vector<std::size_t> sent(n()), received(n());
        for (int r = 0; r < size_; ++r) {
            sent[static_cast<std::size_t>(r)] = length(rank_, r);
            received[static_cast<std::size_t>(r)] = length(r, rank_);
        }
        auto const in = crossing([&](int to) { return cross(rank_, to, length(rank_, to)); });
        auto const wanted =
            crossing([&](int from) { return cross(from, rank_, length(from, rank_)); });
        std::vector<T> out(wanted.size());
        comm_.alltoallv(in, sent, out, received, options_);
        expect_same(out, wanted, label("alltoallv"));
        std::vector<T> again(wanted.size());
        comm_.ialltoallv(in, sent, again, received, options_).wait();
        expect_same(again, wanted, label("ialltoallv"));
    }

private:
    static constexpr auto plain = ReduceOp::Kind::sum;  ///< for calls that do not reduce
    std::size_t n() const { return static_cast<std::size_t>(size_); }
    std::vector<int> roots() const {
        return size_ == 1 ? std::vector<int>{0} : std::vector<int>{0, size_ - 1};
    }
    std::vector<T> mine(ReduceOp const& op, std::size_t count) const {
        return filled<T>(count, [&](std::size_t i) { return value<T>(op.kind(), rank_, i); });
    }
    std::vector<T> reduced_part(ReduceOp const& op, std::size_t from, std::size_t count) const {
        return filled<T>(
            count, [&](std::size_t i) { return reduced<T>(op.kind(), 0, size_ - 1, from + i); });
    }
    std::vector<T> part_of(int rank, std::size_t count) const {
        return filled<T>(count, [&](std::size_t i) { return value<T>(plain, rank, i); });
    }
    std::vector<T> cross(int from, int to, std::size_t count) const {
        return filled<T>(count,
                         [&](std::size_t i) { return value<T>(plain, from * size_ + to, i); });
    }
    template <class F>
    std::vector<T> crossing(F&& block) const {
        std::vector<T> all;
        for (int r = 0; r < size_; ++r) {
            auto const one = block(r);
            all.insert(all.end(), one.begin(), one.end());
        }
        return all;
    }
    std::vector<T> everyone() const {
        return crossing([&](int r) { return part_of(r, count_); });
    }
    std::vector<T> everyone(std::vector<std::size_t> const& counts) const {
        return crossing([&](int r) { return part_of(r, counts[static_cast<std::size_t>(r)]); });
    }
    /// Counts that differ between ranks; rank 1 has none.
    std::vector<std::size_t> uneven() const {
        std::vector<std::size_t> counts(n());
        for (std::size_t r = 0; r < n(); ++r) counts[r] = r == 1 ? 0 : count_ + r;
        return counts;
    }
    std::string label(std::string const& call) const {
        return call + "(" + data_type_of<T>().name() + " x " + std::to_string(count_) +
               ") on rank " + std::to_string(rank_) + " of " + std::to_string(size_) + " " +
               std::string(options_.algorithm);
    }
    std::string label(std::string const& call, ReduceOp const& op) const {
        return label(call) + " " + op.name();
    }

    Communicator& comm_;
    int rank_;
    int size_;
    std::size_t count_;
    CallOptions options_;
};

}  // namespace sinew::tests
