// SPDX-License-Identifier: Apache-2.0

#include <sinew/error.hpp>

#include "src/base/text.hpp"
#include "src/comm/collective/invocation.hpp"

namespace sinew::detail {

namespace {

/// Checks the arguments of one call; each check throws a Refusal.
class Checker {
public:
    Checker(Invocation const& call, int rank, int size, std::string const& host)
        : call_(call), rank_(rank), size_(size), host_(host) {}

    void run() const {
        if (call_.collective == Collective::barrier) return;
        root();
        buffer("in", call_.in);
        if (writes()) buffer("out", call_.out);
        types();
        if (call_.has_parts()) parts_of_buffers();
        else sizes();
        if (!call_.in_place && reads() && writes()) overlap();
    }

private:
    using C = Collective;

    /// Throws for an error that follows from arguments that must be equal on all ranks.
    template <class... Words>
    [[noreturn]] void refuse(Words const&... words) const {
        refuse_if_only(false, words...);
    }
    /// Throws for an error that possibly only this rank knows.
    template <class... Words>
    [[noreturn]] void refuse_here(Words const&... words) const {
        refuse_if_only(true, words...);
    }
    /// Throws for an error in both buffers, which only the root knows if it alone uses one of them.
    template <class... Words>
    [[noreturn]] void refuse_of_both(Words const&... words) const {
        refuse_if_only(call_.has_root() && call_.collective != C::broadcast, words...);
    }
    template <class... Words>
    [[noreturn]] void refuse_if_only(bool here, Words const&... words) const {
        throw Refusal(
            text("rank ", rank_, " of ", size_, " on ", host_, ": ", call_.text(), ": ", words...),
            here);
    }

    bool at_root() const { return rank_ == call_.root; }
    bool reads() const { return uses_in(call_, rank_); }
    bool writes() const { return uses_out(call_, rank_); }

    void root() const {
        if (call_.has_root() && (call_.root < 0 || call_.root >= size_))
            refuse("root ", call_.root, " is out of range (0 to ", size_ - 1, ")");
    }

    void buffer(char const* what, ConstBuffer const& b) const {
        if (what[0] == 'i' && !reads()) return;
        if (b.data == nullptr && b.count > 0)
            refuse_here(what, " is null but has ", b.count, " elements");
        if (b.type.size() == 0) refuse_of_both(what, " has elements of 0 bytes");
        if (b.count > PTRDIFF_MAX / b.type.size())
            refuse_of_both(what, " has ", b.count, " elements, more than can be addressed");
    }

    void types() const {
        if (reads() && writes() && call_.in.type != call_.out.type)
            refuse_of_both("in is ", call_.in.type.name(), " but out is ", call_.out.type.name());
        if (call_.reduces() && !call_.op.accepts(call_.in.type))
            refuse(call_.op.name(), " is not defined on ", call_.in.type.name(),
                   ". Convert the elements, or pass an operation of your own (sinew::reduce_op)");
    }

    void need(char const* what, std::size_t has, std::size_t needs, char const* why) const {
        if (has != needs)
            refuse_of_both(what, " has ", has, " elements, needs ", needs, " (", why, ")");
    }
    void need_own(char const* what, std::size_t has, std::size_t needs) const {
        if (has != needs)
            refuse_here(what, " has ", has, " elements, needs ", needs, " (this rank's part)");
    }

    void divisible(char const* what, std::size_t count) const {
        if (count % static_cast<std::size_t>(size_) != 0)
            refuse_of_both(what, " has ", count, " elements, which ", size_,
                           " ranks cannot share equally");
    }

    void sizes() const {
        auto const n = static_cast<std::size_t>(size_);
        std::size_t const in = call_.in.count, out = call_.out.count;
        switch (call_.collective) {
            case C::reduce_scatter_block:
                if (call_.in_place) divisible("data", in);
                else need("in", in, out * n, "ranks x out");
                break;
            case C::allgather:
                if (call_.in_place) divisible("data", out);
                else need("out", out, in * n, "ranks x in");
                break;
            case C::gather:
                if (!at_root()) break;
                if (call_.in_place) divisible("data", out);
                else need("out", out, in * n, "ranks x in");
                break;
            case C::scatter:
                if (!at_root()) break;
                if (call_.in_place) divisible("data", in);
                else need("in", in, out * n, "ranks x out");
                break;
            case C::alltoall:
                divisible(call_.in_place ? "data" : "in", in);
                need("out", out, in, "as many as in");
                break;
            default:
                if (writes()) need("out", out, in, "as many as in");
        }
    }

    void parts(char const* what, Parts const& parts, std::size_t count) const {
        auto const n = static_cast<std::size_t>(size_);
        if (parts.counts.size() != n)
            refuse_here(what, ": ", parts.counts.size(), " counts for ", n, " ranks");
        if (!parts.offsets.empty() && parts.offsets.size() != n)
            refuse_here(what, ": ", parts.offsets.size(), " offsets for ", n, " ranks");
        std::size_t packed = 0;
        for (std::size_t r = 0; r < n; ++r) {
            std::size_t const offset = parts.offsets.empty() ? packed : parts.offsets[r];
            if (offset > count || parts.counts[r] > count - offset)
                refuse_here(what, ": the part of rank ", r, " (", parts.counts[r],
                            " elements from ", offset, " on) ends beyond the buffer's ", count);
            packed += parts.counts[r];
        }
    }

    void parts_of_buffers() const {
        auto const own = [&](Parts const& p) { return p.counts[static_cast<std::size_t>(rank_)]; };
        switch (call_.collective) {
            case C::reduce_scatter:
                parts("in", call_.parts, call_.in.count);
                if (!call_.in_place) need_own("out", call_.out.count, own(call_.parts));
                break;
            case C::allgatherv:
                parts("out", call_.parts, call_.out.count);
                if (!call_.in_place) need_own("in", call_.in.count, own(call_.parts));
                break;
            case C::gatherv:
                if (!at_root()) break;
                parts("out", call_.parts, call_.out.count);
                if (!call_.in_place) need_own("in", call_.in.count, own(call_.parts));
                break;
            case C::scatterv:
                if (!at_root()) break;
                parts("in", call_.parts, call_.in.count);
                if (!call_.in_place) need_own("out", call_.out.count, own(call_.parts));
                break;
            default:  // alltoallv
                parts("out", call_.parts, call_.out.count);
                if (!call_.in_place) parts("in", call_.sent, call_.in.count);
        }
    }

    void overlap() const {
        auto const* const in = static_cast<std::byte const*>(call_.in.data);
        auto const* const out = static_cast<std::byte const*>(call_.out.data);
        std::less<std::byte const*> const before;
        if (call_.in.bytes() == 0 || call_.out.bytes() == 0) return;
        if (before(in, out + call_.out.bytes()) && before(out, in + call_.in.bytes()))
            refuse_here("in and out overlap. Use the form with one buffer to work in place");
    }

    Invocation const& call_;
    int rank_;
    int size_;
    std::string const& host_;
};

}  // namespace

void check_arguments(Invocation const& call, int rank, int size, std::string const& host) {
    Checker(call, rank, size, host).run();
}

}  // namespace sinew::detail
