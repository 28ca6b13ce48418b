// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <sinew/comm/buffer.hpp>
#include <sinew/communicator.hpp>

namespace sinew {

/// Options of TrainingState. They must be equal on all ranks.
struct StateOptions {
    /// The newest commits that stay on disk.
    int keep = 2;
    /// Each part of a commit is stored on this many nodes, so that a commit outlives the loss of all
    /// but one of them. At most one copy per node is made. With a folder that all nodes share, 1 is
    /// enough.
    int copies = 2;
    /// Time limit of each collective call; 0: that of the communicator (SINEW_TIMEOUT).
    std::chrono::nanoseconds timeout{0};
};

/// What training needs to go on after a restart of its job: parameters, the optimiser's state,
/// residuals of GradientBuckets, generators of random numbers, the position in the data.
///
/// A commit stores it on disk, each rank its part in a folder of its own below `folder`
/// (`folder/rank-0`, ...; of this user alone). `folder` may be local to each node, or shared; on tmpfs
/// the copies on other nodes are those "in the memory of a peer". A commit counts only when the parts of
/// all ranks are complete on disk, whatever happens in between; a part is checked by SHA-256 when it is
/// read. The same program started again continues from the newest complete commit:
///
///     sinew::TrainingState state(comm, "checkpoints");
///     state.add_shared("parameters", parameters);
///     state.add_own("residuals", save, load);
///     std::uint64_t step = state.restore().value_or(0);
///     for (; step < steps; ++step) {
///         if (step % 100 == 0) state.commit(step);
///         train();
///     }
///
/// All functions are collective but add_shared and add_own, which must be called alike by all ranks
/// before the first other one. An error of one rank is thrown on all; it names the rank, its host and
/// the file. One thread at a time may call them.
class TrainingState {
public:
    using Bytes = std::vector<std::byte>;

    /// Makes a communicator of its own from `comm`, and the folders. Throws UsageError if options are
    /// wrong or differ, or a folder is in use by another process or writable by others; SystemError.
    TrainingState(Communicator& comm, std::filesystem::path folder, StateOptions options = {});
    TrainingState(TrainingState&&) noexcept;
    TrainingState& operator=(TrainingState&&) noexcept;
    ~TrainingState();

    /// Adds elements that are equal on all ranks, in host memory that outlives this object. They are
    /// stored once per copy, and may be restored by another number of ranks. Throws UsageError if the
    /// name is taken.
    void add_shared(std::string name, Buffer elements);
    /// Adds elements of this rank alone, as many on each rank as it likes. They can be restored only by
    /// as many ranks.
    void add_own(std::string name, Buffer elements);
    /// Adds what `save` returns at a commit and `load` takes back. `load` may throw, which ends the
    /// restore on all ranks; what it was given is then unspecified.
    void add_own(std::string name, std::function<Bytes()> save,
                 std::function<void(std::span<std::byte const>)> load);

    /// Stores a commit and returns when all its parts are on disk. `step` is what restore returns, and
    /// equal on all ranks. Throws UsageError if the ranks add different things or pass different steps,
    /// and Error if a rank could not write, or had no memory: the commits before it are kept. After PeerLost
    /// and Timeout it counts if all ranks have written it.
    void commit(std::uint64_t step);
    /// Restores the newest complete commit, of which each part is read from whichever node has it
    /// undamaged, and returns its step. Returns nothing if there is no commit at all. May be called in
    /// the middle of training, too, to go back. Throws UsageError if it holds other things (the text
    /// names the first), or Error if there are commits, but none is complete: then nothing has changed.
    std::optional<std::uint64_t> restore();
    /// Copies the root's shared elements to all ranks and verifies by a hash that all have the same
    /// bits.
    void sync(int root = 0);

private:
    class State;
    std::unique_ptr<State> state_;
};

}  // namespace sinew
