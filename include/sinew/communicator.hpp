// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sinew/comm/algorithm.hpp>
#include <sinew/comm/buffer.hpp>
#include <sinew/comm/node_buffer.hpp>
#include <sinew/comm/persistent_request.hpp>
#include <sinew/comm/reduce_op.hpp>
#include <sinew/comm/topology.hpp>
#include <sinew/comm/transport.hpp>
#include <sinew/request.hpp>

namespace sinew {

namespace detail {
class CommunicatorState;
struct Invocation;
}  // namespace detail

/// How a buffer is divided into one part per rank; counts and offsets are in elements. Without
/// offsets the parts are packed in rank order. The arrays are borrowed during the call only, also
/// by non-blocking calls.
struct Parts {
    std::span<std::size_t const> counts;
    std::span<std::size_t const> offsets = {};

    Parts(std::span<std::size_t const> counts_, std::span<std::size_t const> offsets_ = {})
        : counts(counts_), offsets(offsets_) {}
    Parts(std::vector<std::size_t> const& counts_) : counts(counts_) {}
};

/// A group of ranks that communicate: point-to-point messages and MPI's collective operations.
///
/// Messages of different communicators never match each other. All ranks must make the collective
/// calls in the same order. Calls whose names start with `i` return at once and progress in the
/// background (in `test` and `wait` if the transport admits only the thread that created it). A
/// call with one buffer works in place. The order in which a reduction combines the ranks depends
/// only on the communicator, the count and the kind of call, so results are equal bit for bit on
/// all ranks and in every run. f16 and bf16 accumulate in f32. Counts are not limited to 2^31.
///
/// Buffers may be in the memory of an NVIDIA GPU, all of a call in the same kind of memory on all ranks
/// (only messages may pass between the kinds). Such a call runs through NCCL or through host memory, as
/// the ranks agree in the first one; see docs/gpu.md and CallOptions::stream. A communicator belongs to
/// the GPU of its first call.
///
/// Throws UsageError before anything is sent (the text reports whether the communicator stays
/// usable), Timeout or PeerLost if other ranks do not take part, and BackendError if a message has
/// an unexpected length. After Timeout, PeerLost or BackendError the communicator is lost: every
/// later call repeats the error.
///
/// Not thread-safe: one thread at a time may call a communicator, and only the thread that created
/// it if transport().threading() is Threading::caller.
class Communicator {
public:
    explicit Communicator(std::shared_ptr<detail::CommunicatorState> state);
    Communicator(Communicator&&) noexcept;
    Communicator& operator=(Communicator&&) noexcept;
    /// Destroys this rank's end; not collective. Pending requests stay valid. Receive all messages
    /// first: with some MPI libraries a message that was never received may appear in a later
    /// communicator.
    ~Communicator();

    /// This rank, from 0 to size() - 1.
    int rank() const noexcept;
    int size() const noexcept;
    /// Which ranks share a node.
    NodeLayout const& nodes() const noexcept;
    /// Allocates `count` zeroed elements, aligned to a page, in memory that the ranks of this node
    /// share, so that collectives on them need no copies (see NodeBuffer). Not collective.
    /// Thread-safe. Throws std::bad_alloc.
    template <Element T>
    NodeBuffer<T> allocate(std::size_t count) {
        if (count > static_cast<std::size_t>(PTRDIFF_MAX) / sizeof(T)) throw std::bad_alloc();
        auto [memory, shared] = allocate_bytes(count * sizeof(T));
        return {std::move(memory), count, shared};
    }
    /// The transport that carries the communicator's messages.
    Transport& transport() const noexcept;
    /// Describes the algorithm chosen for each message size and the time the model predicts, and what
    /// calls have measured (SINEW_TUNE), and which ranks of this node are taken for near each other
    /// (SINEW_NODE_DOMAINS), as text.
    std::string explain(Collective collective) const;
    /// The name of the algorithm that a call on `bytes` bytes (the whole vector) would use. `op`
    /// matters for reductions only.
    std::string_view algorithm_for(Collective collective, std::size_t bytes,
                                   DataType type = DataType::Kind::f32,
                                   ReduceOp const& op = sum) const;

    /// Makes a communicator of the ranks with equal `color` (>= 0), ordered by `key`, then by rank.
    /// Collective. Throws UsageError if `color` is negative.
    Communicator split(int color, int key = 0);
    /// Takes part in the other ranks' `split` without joining a part (MPI_UNDEFINED). Collective.
    void split_none();
    /// Makes a communicator of the ranks that share this rank's node. Collective.
    Communicator split_node();
    /// Makes a communicator of the same ranks with separate messages. Collective.
    Communicator dup();
    /// Makes a communicator of the ranks that are left, in their order, after this one was lost
    /// (MPI_Comm_shrink of ULFM). Every rank that is left must call it; ranks that wait in a call of
    /// this communicator get PeerLost. All get the same members, however many die meanwhile; one that died last
    /// may be among them, and the first call then throws PeerLost. Of a network that is cut in two,
    /// each side goes on by itself.
    ///
    /// `timeout` limits the time in which nothing is heard of a rank that must call it; 0: SINEW_TIMEOUT. Throws Timeout
    /// then, after which it may be called again; UsageError if the messages pass through MPI, which
    /// does not survive a rank; PeerLost if the others have lost the connection to this rank.
    Communicator shrink(std::chrono::nanoseconds timeout = {});

    // --- collective operations; `out` of reduce and gather is used on the root only ----------
    /// Every rank gets the reduction of all ranks' elements.
    void allreduce(Buffer const& data, ReduceOp const& op, CallOptions const& = {});
    void allreduce(ConstBuffer const& in, Buffer const& out, ReduceOp const& op,
                   CallOptions const& = {});
    /// Rank r gets part r of the reduction; in place it is stored at the front of `data`.
    void reduce_scatter(Buffer const& data, Parts parts, ReduceOp const& op,
                        CallOptions const& = {});
    void reduce_scatter(ConstBuffer const& in, Buffer const& out, Parts parts, ReduceOp const& op,
                        CallOptions const& = {});
    /// As reduce_scatter, with parts of equal size.
    void reduce_scatter_block(Buffer const& data, ReduceOp const& op, CallOptions const& = {});
    void reduce_scatter_block(ConstBuffer const& in, Buffer const& out, ReduceOp const& op,
                              CallOptions const& = {});
    /// Every rank gets the parts of all ranks, in rank order. In place, `data` is the whole and
    /// each rank's own part is already in its position.
    void allgather(Buffer const& data, CallOptions const& = {});
    void allgather(ConstBuffer const& in, Buffer const& out, CallOptions const& = {});
    /// As allgather, with parts of different sizes.
    void allgatherv(Buffer const& data, Parts parts, CallOptions const& = {});
    void allgatherv(ConstBuffer const& in, Buffer const& out, Parts parts, CallOptions const& = {});
    /// Copies the root's elements to all ranks.
    void broadcast(Buffer const& data, int root = 0, CallOptions const& = {});
    /// The root gets the reduction of all ranks' elements.
    void reduce(Buffer const& data, ReduceOp const& op, int root = 0, CallOptions const& = {});
    void reduce(ConstBuffer const& in, Buffer const& out, ReduceOp const& op, int root = 0,
                CallOptions const& = {});
    /// The root gets the parts of all ranks, in rank order. In place, `data` is on the root the
    /// whole, with the root's part in its position, and on other ranks their part.
    void gather(Buffer const& data, int root = 0, CallOptions const& = {});
    void gather(ConstBuffer const& in, Buffer const& out, int root = 0, CallOptions const& = {});
    void gatherv(Buffer const& data, Parts parts, int root = 0, CallOptions const& = {});
    void gatherv(ConstBuffer const& in, Buffer const& out, Parts parts, int root = 0,
                 CallOptions const& = {});
    /// Each rank gets its part of the root's elements. In place as gather.
    void scatter(Buffer const& data, int root = 0, CallOptions const& = {});
    void scatter(ConstBuffer const& in, Buffer const& out, int root = 0, CallOptions const& = {});
    void scatterv(Buffer const& data, Parts parts, int root = 0, CallOptions const& = {});
    void scatterv(ConstBuffer const& in, Buffer const& out, Parts parts, int root = 0,
                  CallOptions const& = {});
    /// Rank r gets part r of every rank's elements, in rank order.
    void alltoall(Buffer const& data, CallOptions const& = {});
    void alltoall(ConstBuffer const& in, Buffer const& out, CallOptions const& = {});
    void alltoallv(Buffer const& data, Parts parts, CallOptions const& = {});
    void alltoallv(ConstBuffer const& in, Parts sent, Buffer const& out, Parts received,
                   CallOptions const& = {});
    /// Rank r gets the reduction of ranks 0..r (exscan: 0..r-1; rank 0's output is not changed).
    void scan(Buffer const& data, ReduceOp const& op, CallOptions const& = {});
    void scan(ConstBuffer const& in, Buffer const& out, ReduceOp const& op,
              CallOptions const& = {});
    void exscan(Buffer const& data, ReduceOp const& op, CallOptions const& = {});
    void exscan(ConstBuffer const& in, Buffer const& out, ReduceOp const& op,
                CallOptions const& = {});
    /// Returns when all ranks have called it.
    void barrier(CallOptions const& = {});

    /// The non-blocking forms. The buffers belong to the operation until the Request has completed;
    /// arguments are checked at the call.
    Request iallreduce(Buffer const& data, ReduceOp const& op, CallOptions const& = {});
    Request iallreduce(ConstBuffer const& in, Buffer const& out, ReduceOp const& op,
                       CallOptions const& = {});
    Request ireduce_scatter(Buffer const& data, Parts parts, ReduceOp const& op,
                            CallOptions const& = {});
    Request ireduce_scatter(ConstBuffer const& in, Buffer const& out, Parts parts,
                            ReduceOp const& op, CallOptions const& = {});
    Request ireduce_scatter_block(Buffer const& data, ReduceOp const& op, CallOptions const& = {});
    Request ireduce_scatter_block(ConstBuffer const& in, Buffer const& out, ReduceOp const& op,
                                  CallOptions const& = {});
    Request iallgather(Buffer const& data, CallOptions const& = {});
    Request iallgather(ConstBuffer const& in, Buffer const& out, CallOptions const& = {});
    Request iallgatherv(Buffer const& data, Parts parts, CallOptions const& = {});
    Request iallgatherv(ConstBuffer const& in, Buffer const& out, Parts parts,
                        CallOptions const& = {});
    Request ibroadcast(Buffer const& data, int root = 0, CallOptions const& = {});
    Request ireduce(Buffer const& data, ReduceOp const& op, int root = 0, CallOptions const& = {});
    Request ireduce(ConstBuffer const& in, Buffer const& out, ReduceOp const& op, int root = 0,
                    CallOptions const& = {});
    Request igather(Buffer const& data, int root = 0, CallOptions const& = {});
    Request igather(ConstBuffer const& in, Buffer const& out, int root = 0,
                    CallOptions const& = {});
    Request igatherv(Buffer const& data, Parts parts, int root = 0, CallOptions const& = {});
    Request igatherv(ConstBuffer const& in, Buffer const& out, Parts parts, int root = 0,
                     CallOptions const& = {});
    Request iscatter(Buffer const& data, int root = 0, CallOptions const& = {});
    Request iscatter(ConstBuffer const& in, Buffer const& out, int root = 0,
                     CallOptions const& = {});
    Request iscatterv(Buffer const& data, Parts parts, int root = 0, CallOptions const& = {});
    Request iscatterv(ConstBuffer const& in, Buffer const& out, Parts parts, int root = 0,
                      CallOptions const& = {});
    Request ialltoall(Buffer const& data, CallOptions const& = {});
    Request ialltoall(ConstBuffer const& in, Buffer const& out, CallOptions const& = {});
    Request ialltoallv(Buffer const& data, Parts parts, CallOptions const& = {});
    Request ialltoallv(ConstBuffer const& in, Parts sent, Buffer const& out, Parts received,
                       CallOptions const& = {});
    Request iscan(Buffer const& data, ReduceOp const& op, CallOptions const& = {});
    Request iscan(ConstBuffer const& in, Buffer const& out, ReduceOp const& op,
                  CallOptions const& = {});
    Request iexscan(Buffer const& data, ReduceOp const& op, CallOptions const& = {});
    Request iexscan(ConstBuffer const& in, Buffer const& out, ReduceOp const& op,
                    CallOptions const& = {});
    Request ibarrier(CallOptions const& = {});

    /// The persistent forms: each makes a PersistentRequest, whose `start` begins the call. Arguments
    /// are checked here, by this rank alone. Not collective: only the calls of `start` must have the
    /// same order on all ranks.
    PersistentRequest allreduce_init(Buffer const& data, ReduceOp const& op,
                                     CallOptions const& = {});
    PersistentRequest allreduce_init(ConstBuffer const& in, Buffer const& out, ReduceOp const& op,
                                     CallOptions const& = {});
    PersistentRequest reduce_scatter_init(Buffer const& data, Parts parts, ReduceOp const& op,
                                          CallOptions const& = {});
    PersistentRequest reduce_scatter_init(ConstBuffer const& in, Buffer const& out, Parts parts,
                                          ReduceOp const& op, CallOptions const& = {});
    PersistentRequest reduce_scatter_block_init(Buffer const& data, ReduceOp const& op,
                                                CallOptions const& = {});
    PersistentRequest reduce_scatter_block_init(ConstBuffer const& in, Buffer const& out,
                                                ReduceOp const& op, CallOptions const& = {});
    PersistentRequest allgather_init(Buffer const& data, CallOptions const& = {});
    PersistentRequest allgather_init(ConstBuffer const& in, Buffer const& out,
                                     CallOptions const& = {});
    PersistentRequest allgatherv_init(Buffer const& data, Parts parts, CallOptions const& = {});
    PersistentRequest allgatherv_init(ConstBuffer const& in, Buffer const& out, Parts parts,
                                      CallOptions const& = {});
    PersistentRequest broadcast_init(Buffer const& data, int root = 0, CallOptions const& = {});
    PersistentRequest reduce_init(Buffer const& data, ReduceOp const& op, int root = 0,
                                  CallOptions const& = {});
    PersistentRequest reduce_init(ConstBuffer const& in, Buffer const& out, ReduceOp const& op,
                                  int root = 0, CallOptions const& = {});
    PersistentRequest gather_init(Buffer const& data, int root = 0, CallOptions const& = {});
    PersistentRequest gather_init(ConstBuffer const& in, Buffer const& out, int root = 0,
                                  CallOptions const& = {});
    PersistentRequest gatherv_init(Buffer const& data, Parts parts, int root = 0,
                                   CallOptions const& = {});
    PersistentRequest gatherv_init(ConstBuffer const& in, Buffer const& out, Parts parts,
                                   int root = 0, CallOptions const& = {});
    PersistentRequest scatter_init(Buffer const& data, int root = 0, CallOptions const& = {});
    PersistentRequest scatter_init(ConstBuffer const& in, Buffer const& out, int root = 0,
                                   CallOptions const& = {});
    PersistentRequest scatterv_init(Buffer const& data, Parts parts, int root = 0,
                                    CallOptions const& = {});
    PersistentRequest scatterv_init(ConstBuffer const& in, Buffer const& out, Parts parts,
                                    int root = 0, CallOptions const& = {});
    PersistentRequest alltoall_init(Buffer const& data, CallOptions const& = {});
    PersistentRequest alltoall_init(ConstBuffer const& in, Buffer const& out,
                                    CallOptions const& = {});
    PersistentRequest alltoallv_init(Buffer const& data, Parts parts, CallOptions const& = {});
    PersistentRequest alltoallv_init(ConstBuffer const& in, Parts sent, Buffer const& out,
                                     Parts received, CallOptions const& = {});
    PersistentRequest scan_init(Buffer const& data, ReduceOp const& op, CallOptions const& = {});
    PersistentRequest scan_init(ConstBuffer const& in, Buffer const& out, ReduceOp const& op,
                                CallOptions const& = {});
    PersistentRequest exscan_init(Buffer const& data, ReduceOp const& op, CallOptions const& = {});
    PersistentRequest exscan_init(ConstBuffer const& in, Buffer const& out, ReduceOp const& op,
                                  CallOptions const& = {});
    PersistentRequest barrier_init(CallOptions const& = {});

    /// Returns one value reduced over all ranks: `comm.allreduce_value(loss, sinew::average)`.
    template <Element T>
    T allreduce_value(T value, ReduceOp const& op, CallOptions const& options = {}) {
        allreduce(std::span<T>(&value, 1), op, options);
        return value;
    }

    // --- point to point: matched by rank and tag, in order; tags 0 .. max_tag() --------------
    /// The largest tag that messages may have; at least 32764.
    int max_tag() const noexcept;
    /// Returns when `data` may be reused. `tag` is between 0 and max_tag().
    void send(ConstBuffer const& data, int to, int tag = 0, CallOptions const& = {});
    /// Receives a message of at most `data.count` elements. `from` may be any_source. A longer
    /// message is a BackendError, which Open MPI 4.1 does not always detect.
    Received recv(Buffer const& data, int from, int tag = 0, CallOptions const& = {});
    /// Sends and receives at the same time; cannot deadlock against another sendrecv.
    Received sendrecv(ConstBuffer const& out, int to, Buffer const& in, int from, int tag = 0,
                      CallOptions const& = {});
    Request isend(ConstBuffer const& data, int to, int tag = 0, CallOptions const& = {});
    Request irecv(Buffer const& data, int from, int tag = 0, CallOptions const& = {});

    /// For the library's own parts.
    detail::CommunicatorState& state() const noexcept { return *state_; }

private:
    /// Returns memory and whether it is shared.
    std::pair<std::shared_ptr<void>, bool> allocate_bytes(std::size_t bytes);

    std::shared_ptr<detail::CommunicatorState> state_;
};

}  // namespace sinew
