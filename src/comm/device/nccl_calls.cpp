// SPDX-License-Identifier: Apache-2.0
// Which calls of NCCL make up a collective. What NCCL lacks (parts of different lengths, gather,
// scatter) is a group of its other calls, which it runs as one.
#include <algorithm>
#include <numeric>

#include "collectives/nccl/types.hpp"
#include "src/comm/device/nccl_path.hpp"

namespace sinew::detail {

namespace {

namespace nccl = collectives::nccl;
using C = Collective;

/// The parts of a buffer by rank, in bytes.
struct Piece {
    std::size_t offset, bytes;
};

class NcclIssue {
public:
    NcclIssue(Invocation const& call, int rank, int size, nccl::Calls& calls)
        : call_(call), calls_(calls), nccl_(calls.nccl()), rank_(rank), size_(size),
          n_(static_cast<std::size_t>(size)),
          element_(uses_in(call, rank) ? call.in.type.size() : call.out.type.size()),
          in_(static_cast<std::byte const*>(call.in.data)),
          out_(static_cast<std::byte*>(call.out.data)) {
        if (call.reduces()) {
            reduction_ = *nccl::reduction(call.in.type, call.op);
            op_ = reduction_.averages ? calls.average(reduction_.type) : reduction_.op;
        }
    }

    void run() {
        switch (call_.collective) {
            case C::allreduce:
                return check(nccl_.all_reduce(in_, out_, counted(call_.in.count), reduction_.type,
                                              op_, comm(), stream()),
                             "ncclAllReduce");
            case C::reduce:
                return check(nccl_.reduce(in_, at_root() ? out_ : nullptr, counted(call_.in.count),
                                          reduction_.type, op_, call_.root, comm(), stream()),
                             "ncclReduce");
            case C::broadcast:
                return broadcast(out_, call_.out.bytes(), call_.root);
            case C::reduce_scatter_block:
                return reduce_scatter_block();
            case C::reduce_scatter:
                return reduce_scatter();
            case C::allgather:
                return allgather();
            case C::allgatherv:
                return allgatherv();
            case C::gather:
            case C::gatherv:
                return gather();
            case C::scatter:
            case C::scatterv:
                return scatter();
            case C::alltoall:
            case C::alltoallv:
                return alltoall();
            case C::scan:
            case C::exscan:
            case C::barrier:
                return;  // NcclPath::takes refuses them
        }
    }

private:
    bool at_root() const { return rank_ == call_.root; }
    std::size_t self() const { return static_cast<std::size_t>(rank_); }
    nccl::Handle comm() const { return calls_.comm(); }
    nccl::Stream stream() const { return calls_.stream(); }
    void check(int result, char const* function) const { calls_.check(result, function); }
    std::size_t counted(std::size_t elements) const { return elements * reduction_.per_element; }

    /// Calls `body` between ncclGroupStart and ncclGroupEnd, which must follow in any case.
    template <class Body>
    void group(Body const& body) {
        check(nccl_.group_start(), "ncclGroupStart");
        try {
            body();
        } catch (...) {
            nccl_.group_end();
            throw;
        }
        check(nccl_.group_end(), "ncclGroupEnd");
    }
    void send(void const* data, std::size_t bytes, int to) {
        if (bytes > 0)
            check(nccl_.send(data, bytes, nccl::type_u8, to, comm(), stream()), "ncclSend");
    }
    void receive(void* data, std::size_t bytes, int from) {
        if (bytes > 0)
            check(nccl_.receive(data, bytes, nccl::type_u8, from, comm(), stream()), "ncclRecv");
    }
    void broadcast(void* data, std::size_t bytes, int root) {
        check(nccl_.broadcast(data, data, bytes, nccl::type_u8, root, comm(), stream()),
              "ncclBroadcast");
    }

    Piece equal(std::size_t elements, int rank) const {
        std::size_t const bytes = elements * element_;
        return {static_cast<std::size_t>(rank) * bytes, bytes};
    }
    Piece listed(Parts const& parts, int rank) const {
        auto const r = static_cast<std::size_t>(rank);
        std::size_t const offset =
            parts.offsets.empty()
                ? std::accumulate(parts.counts.begin(),
                                  parts.counts.begin() + static_cast<std::ptrdiff_t>(r),
                                  std::size_t{0})
                : parts.offsets[r];
        return {offset * element_, parts.counts[r] * element_};
    }
    /// The part of the long buffer that belongs to a rank.
    Piece part(int rank, std::size_t equal_count) const {
        return call_.has_parts() ? listed(call_.parts, rank) : equal(equal_count, rank);
    }

    void reduce_scatter_block() {
        std::size_t const count = call_.in.count / n_;
        Piece const own = equal(count, rank_);
        // NCCL works in place where the result is at the rank's own part; ours is at the front.
        std::byte* const to = call_.in_place ? out_ + own.offset : out_;
        check(nccl_.reduce_scatter(in_, to, counted(count), reduction_.type, op_, comm(), stream()),
              "ncclReduceScatter");
        if (call_.in_place) settle_then_copy(out_, to, own.bytes);
    }
    /// Copies after the collective that was just called. It is launched in the background, so that the
    /// copy would come before it on the stream.
    void settle_then_copy(void* to, void const* from, std::size_t bytes) {
        if (bytes == 0 || to == from) return;
        calls_.settle();
        calls_.copy(to, from, bytes);
    }
    void reduce_scatter() {
        std::size_t const own_bytes = listed(call_.parts, rank_).bytes;
        void* const to =
            call_.in_place && own_bytes > 0 ? calls_.scratch(own_bytes) : static_cast<void*>(out_);
        group([&] {
            for (int r = 0; r < size_; ++r) {
                Piece const piece = listed(call_.parts, r);
                if (piece.bytes == 0) continue;
                check(nccl_.reduce(in_ + piece.offset, r == rank_ ? to : nullptr,
                                   counted(piece.bytes / element_), reduction_.type, op_, r, comm(),
                                   stream()),
                      "ncclReduce");
            }
        });
        if (call_.in_place) settle_then_copy(out_, to, own_bytes);
    }
    void allgather() {
        std::size_t const count = call_.in_place ? call_.out.count / n_ : call_.in.count;
        Piece const own = equal(count, rank_);
        check(nccl_.all_gather(call_.in_place ? out_ + own.offset : in_, out_, own.bytes,
                               nccl::type_u8, comm(), stream()),
              "ncclAllGather");
    }
    void allgatherv() {
        Piece const own = listed(call_.parts, rank_);
        if (!call_.in_place) calls_.copy(out_ + own.offset, in_, own.bytes);
        group([&] {
            for (int r = 0; r < size_; ++r) {
                Piece const piece = listed(call_.parts, r);
                if (piece.bytes > 0) broadcast(out_ + piece.offset, piece.bytes, r);
            }
        });
    }
    void gather() {
        if (!at_root()) {
            return group([&] { send(in_, call_.in.bytes(), call_.root); });
        }
        std::size_t const count = call_.in_place ? call_.out.count / n_ : call_.in.count;
        Piece const own = part(rank_, count);
        if (!call_.in_place) calls_.copy(out_ + own.offset, in_, own.bytes);
        group([&] {
            for (int r = 0; r < size_; ++r)
                if (Piece const piece = part(r, count); r != rank_)
                    receive(out_ + piece.offset, piece.bytes, r);
        });
    }
    void scatter() {
        if (!at_root()) {
            return group([&] { receive(out_, call_.out.bytes(), call_.root); });
        }
        std::size_t const count = call_.in_place ? call_.in.count / n_ : call_.out.count;
        Piece const own = part(rank_, count);
        if (!call_.in_place) calls_.copy(out_, in_ + own.offset, own.bytes);
        group([&] {
            for (int r = 0; r < size_; ++r)
                if (Piece const piece = part(r, count); r != rank_)
                    send(in_ + piece.offset, piece.bytes, r);
        });
    }
    void alltoall() {
        std::byte const* from = in_;
        if (call_.in_place && call_.in.bytes() > 0) {
            auto* const copy = static_cast<std::byte*>(calls_.scratch(call_.in.bytes()));
            calls_.copy(copy, in_, call_.in.bytes());
            from = copy;
        }
        std::size_t const count = call_.in.count / n_;
        bool const uneven = call_.collective == C::alltoallv;
        if (!uneven && calls_.library().has_all_to_all())
            return check(
                nccl_.all_to_all(from, out_, count * element_, nccl::type_u8, comm(), stream()),
                "ncclAlltoAll");
        auto const sent = [&](int r) {
            if (!uneven) return equal(count, r);
            return listed(call_.in_place ? call_.parts : call_.sent, r);
        };
        Piece const mine = sent(rank_), own = part(rank_, count);
        calls_.copy(out_ + own.offset, from + mine.offset, std::min(mine.bytes, own.bytes));
        group([&] {
            for (int r = 0; r < size_; ++r) {
                if (r == rank_) continue;
                send(from + sent(r).offset, sent(r).bytes, r);
                receive(out_ + part(r, count).offset, part(r, count).bytes, r);
            }
        });
    }

    Invocation const& call_;
    nccl::Calls& calls_;
    nccl::Functions const& nccl_;
    int rank_, size_;
    std::size_t n_, element_;
    std::byte const* in_;
    std::byte* out_;
    nccl::Reduction reduction_{};
    int op_ = 0;
};

}  // namespace

std::function<void(nccl::Calls&)> nccl_calls_of(Invocation const& call, int rank, int size) {
    auto owned = std::make_shared<OwnedInvocation>(call);
    return [owned, rank, size](nccl::Calls& calls) {
        NcclIssue(owned->call, rank, size, calls).run();
    };
}

}  // namespace sinew::detail
