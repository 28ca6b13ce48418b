// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sinew/comm/algorithm.hpp>
#include <sinew/comm/buffer.hpp>
#include <sinew/comm/reduce_op.hpp>
#include <sinew/comm/topology.hpp>
#include <sinew/comm/transport.hpp>
#include <sinew/request.hpp>

namespace sinew {

namespace detail {
class CommunicatorState;
struct Invocation;
}  // namespace detail

/// How a buffer is cut into one part per rank, in elements. Without offsets the parts are packed in
/// rank order. Borrowed for the call only, also by non-blocking calls.
struct Parts {
    std::span<std::size_t const> counts;
    std::span<std::size_t const> offsets = {};

    Parts(std::span<std::size_t const> counts_, std::span<std::size_t const> offsets_ = {})
        : counts(counts_), offsets(offsets_) {}
    Parts(std::vector<std::size_t> const& counts_) : counts(counts_) {}
};

/// A group of ranks that communicate: point-to-point messages and MPI's collective operations.
///
/// Owns its message space: its messages meet no other communicator's. Collective calls must be made
/// by all ranks in the same order; calls of one communicator come from one thread at a time. Calls
/// starting with `i` return at once and progress in the background (in `test`/`wait` where the
/// transport allows only its own thread). A call with one buffer works in place. Reductions take
/// the ranks in an order that depends only on the communicator, the count and the kind of call:
/// results are equal bit for bit on all ranks and in every run. f16 and bf16 accumulate in f32.
///
/// Throws UsageError before anything is sent (it says when the communicator stays usable), Timeout or
/// PeerLost when the others do not come, BackendError for a message of another length (it is lost:
/// every later call repeats the error). Counts are not limited to 2^31.
class Communicator {
public:
    explicit Communicator(std::shared_ptr<detail::CommunicatorState> state);
    Communicator(Communicator&&) noexcept;
    Communicator& operator=(Communicator&&) noexcept;
    /// Local. Pending requests stay valid. Receive all messages first: over some MPI libraries one
    /// that nobody received may turn up in a later communicator.
    ~Communicator();

    int rank() const noexcept;
    int size() const noexcept;
    NodeLayout const& nodes() const noexcept;
    Transport& transport() const noexcept;
    /// Which algorithm each size of a collective would use and what the model expects, as text.
    std::string explain(Collective collective) const;
    /// The algorithm that a call on `bytes` (of the whole vector) would use. `op`: where it reduces.
    std::string_view algorithm_for(Collective collective, std::size_t bytes,
                                   DataType type = DataType::Kind::f32,
                                   ReduceOp const& op = sum) const;

    /// Ranks with equal `color` (>= 0) form a communicator, ordered by `key`, then by rank. Collective.
    Communicator split(int color, int key = 0);
    /// Takes part in the others' `split` without joining any part (MPI_UNDEFINED).
    void split_none();
    /// The ranks that share this rank's node.
    Communicator split_node();
    Communicator dup();

    // --- collective operations; `out` of reduce and gather counts on the root only -----------
    void allreduce(Buffer data, ReduceOp const& op, CallOptions = {});
    void allreduce(ConstBuffer in, Buffer out, ReduceOp const& op, CallOptions = {});
    /// Rank r gets part r of the reduction; in place it lands at the front of `data`.
    void reduce_scatter(Buffer data, Parts parts, ReduceOp const& op, CallOptions = {});
    void reduce_scatter(ConstBuffer in, Buffer out, Parts parts, ReduceOp const& op,
                        CallOptions = {});
    void reduce_scatter_block(Buffer data, ReduceOp const& op, CallOptions = {});
    void reduce_scatter_block(ConstBuffer in, Buffer out, ReduceOp const& op, CallOptions = {});
    /// In place, each rank's own part is already where it belongs.
    void allgather(Buffer data, CallOptions = {});
    void allgather(ConstBuffer in, Buffer out, CallOptions = {});
    void allgatherv(Buffer data, Parts parts, CallOptions = {});
    void allgatherv(ConstBuffer in, Buffer out, Parts parts, CallOptions = {});
    void broadcast(Buffer data, int root = 0, CallOptions = {});
    void reduce(Buffer data, ReduceOp const& op, int root = 0, CallOptions = {});
    void reduce(ConstBuffer in, Buffer out, ReduceOp const& op, int root = 0, CallOptions = {});
    /// In place: on the root `data` is the whole with its own part filled in, elsewhere the part.
    void gather(Buffer data, int root = 0, CallOptions = {});
    void gather(ConstBuffer in, Buffer out, int root = 0, CallOptions = {});
    void gatherv(Buffer data, Parts parts, int root = 0, CallOptions = {});
    void gatherv(ConstBuffer in, Buffer out, Parts parts, int root = 0, CallOptions = {});
    void scatter(Buffer data, int root = 0, CallOptions = {});
    void scatter(ConstBuffer in, Buffer out, int root = 0, CallOptions = {});
    void scatterv(Buffer data, Parts parts, int root = 0, CallOptions = {});
    void scatterv(ConstBuffer in, Buffer out, Parts parts, int root = 0, CallOptions = {});
    void alltoall(Buffer data, CallOptions = {});
    void alltoall(ConstBuffer in, Buffer out, CallOptions = {});
    void alltoallv(Buffer data, Parts parts, CallOptions = {});
    void alltoallv(ConstBuffer in, Parts sent, Buffer out, Parts received, CallOptions = {});
    /// Rank r gets the reduction of ranks 0..r (exscan: 0..r-1; rank 0's output stays as it is).
    void scan(Buffer data, ReduceOp const& op, CallOptions = {});
    void scan(ConstBuffer in, Buffer out, ReduceOp const& op, CallOptions = {});
    void exscan(Buffer data, ReduceOp const& op, CallOptions = {});
    void exscan(ConstBuffer in, Buffer out, ReduceOp const& op, CallOptions = {});
    void barrier(CallOptions = {});

    Request iallreduce(Buffer data, ReduceOp const& op, CallOptions = {});
    Request iallreduce(ConstBuffer in, Buffer out, ReduceOp const& op, CallOptions = {});
    Request ireduce_scatter(Buffer data, Parts parts, ReduceOp const& op, CallOptions = {});
    Request ireduce_scatter(ConstBuffer in, Buffer out, Parts parts, ReduceOp const& op,
                            CallOptions = {});
    Request ireduce_scatter_block(Buffer data, ReduceOp const& op, CallOptions = {});
    Request ireduce_scatter_block(ConstBuffer in, Buffer out, ReduceOp const& op, CallOptions = {});
    Request iallgather(Buffer data, CallOptions = {});
    Request iallgather(ConstBuffer in, Buffer out, CallOptions = {});
    Request iallgatherv(Buffer data, Parts parts, CallOptions = {});
    Request iallgatherv(ConstBuffer in, Buffer out, Parts parts, CallOptions = {});
    Request ibroadcast(Buffer data, int root = 0, CallOptions = {});
    Request ireduce(Buffer data, ReduceOp const& op, int root = 0, CallOptions = {});
    Request ireduce(ConstBuffer in, Buffer out, ReduceOp const& op, int root = 0, CallOptions = {});
    Request igather(Buffer data, int root = 0, CallOptions = {});
    Request igather(ConstBuffer in, Buffer out, int root = 0, CallOptions = {});
    Request igatherv(Buffer data, Parts parts, int root = 0, CallOptions = {});
    Request igatherv(ConstBuffer in, Buffer out, Parts parts, int root = 0, CallOptions = {});
    Request iscatter(Buffer data, int root = 0, CallOptions = {});
    Request iscatter(ConstBuffer in, Buffer out, int root = 0, CallOptions = {});
    Request iscatterv(Buffer data, Parts parts, int root = 0, CallOptions = {});
    Request iscatterv(ConstBuffer in, Buffer out, Parts parts, int root = 0, CallOptions = {});
    Request ialltoall(Buffer data, CallOptions = {});
    Request ialltoall(ConstBuffer in, Buffer out, CallOptions = {});
    Request ialltoallv(Buffer data, Parts parts, CallOptions = {});
    Request ialltoallv(ConstBuffer in, Parts sent, Buffer out, Parts received, CallOptions = {});
    Request iscan(Buffer data, ReduceOp const& op, CallOptions = {});
    Request iscan(ConstBuffer in, Buffer out, ReduceOp const& op, CallOptions = {});
    Request iexscan(Buffer data, ReduceOp const& op, CallOptions = {});
    Request iexscan(ConstBuffer in, Buffer out, ReduceOp const& op, CallOptions = {});
    Request ibarrier(CallOptions = {});

    /// One value reduced over all ranks: `double mean = comm.allreduce_value(loss, sinew::average)`.
    template <Element T>
    T allreduce_value(T value, ReduceOp const& op, CallOptions options = {}) {
        allreduce(std::span<T>(&value, 1), op, options);
        return value;
    }

    // --- point to point: matched by rank and tag, in order; tags 0 .. max_tag() --------------
    int max_tag() const noexcept;
    void send(ConstBuffer data, int to, int tag = 0, CallOptions = {});
    /// `from` may be any_source. A shorter message than `data` is fine, a longer one an error (Open MPI
    /// 4.1 does not notice every such mistake).
    Received recv(Buffer data, int from, int tag = 0, CallOptions = {});
    Received sendrecv(ConstBuffer out, int to, Buffer in, int from, int tag = 0, CallOptions = {});
    Request isend(ConstBuffer data, int to, int tag = 0, CallOptions = {});
    Request irecv(Buffer data, int from, int tag = 0, CallOptions = {});

    detail::CommunicatorState& state() const noexcept { return *state_; }

private:
    std::shared_ptr<detail::CommunicatorState> state_;
};

}  // namespace sinew
