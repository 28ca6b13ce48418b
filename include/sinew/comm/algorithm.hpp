// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>
#include <vector>

namespace sinew {

/// The collective operations of a Communicator.
enum class Collective : std::uint8_t {
    allreduce,
    reduce_scatter,
    reduce_scatter_block,
    allgather,
    allgatherv,
    broadcast,
    reduce,
    gather,
    gatherv,
    scatter,
    scatterv,
    alltoall,
    alltoallv,
    scan,
    exscan,
    barrier,
};
inline constexpr int collectives_count = static_cast<int>(Collective::barrier) + 1;

std::string_view name(Collective collective);
/// Whether the operation combines elements of the ranks: allreduce, reduce, reduce_scatter(_block),
/// scan, exscan.
bool is_reduction(Collective collective);
/// Whether one rank is the root: broadcast, reduce, gather(v), scatter(v).
bool is_rooted(Collective collective);
/// Whether the parts of the ranks may differ in size: reduce_scatter and the operations ending in
/// v.
bool has_uneven_parts(Collective collective);

/// The names of all algorithms of a collective, for CallOptions::algorithm.
std::vector<std::string_view> algorithm_names(Collective collective);

/// Where the buffers of a call are.
enum class Memory : std::uint8_t {
    detect,  ///< the CUDA driver is asked, if the program has loaded it
    host,
    device,  ///< in the memory of a GPU
};

/// Options of one call. They must be equal on all ranks, apart from the streams.
struct CallOptions {
    /// The algorithm's name ("ring", "recursive_doubling", ...); empty: the tuner chooses. For buffers
    /// in the memory of a GPU also "nccl" and "staged"; see docs/gpu.md.
    std::string_view algorithm = {};
    /// Time limit of this call; 0: that of the communicator (SINEW_TIMEOUT, by default 5 minutes).
    std::chrono::nanoseconds timeout{0};
    /// The CUDA stream (a cudaStream_t or CUstream) in whose order a call on the memory of a GPU runs:
    /// after the stream's earlier work and before its later work. A blocking call then returns as soon
    /// as it is enqueued. Null: the buffers are ready at the call, and the call ends when the GPU has
    /// completed it. Only for calls on the memory of a GPU.
    void* stream = nullptr;
    /// Instead of `stream`: the stream that computes the buffers. The call begins after what that stream
    /// has been given, so that the buffers need not be ready, and ends as without a stream, when the GPU
    /// has completed it. Only for calls on the memory of a GPU.
    void* after = nullptr;
    /// Where the buffers are. Needed only by a rank that passes null because its part is empty, in a
    /// call whose other ranks pass memory of a GPU.
    Memory memory = Memory::detect;
};

}  // namespace sinew
