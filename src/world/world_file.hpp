// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/wire/socket/address.hpp"
#include "src/wire/tls/secret.hpp"

namespace sinew {

/// What an agent tells its ranks: who takes part, where each rank listens, and the key by which they
/// know each other. One file per node and epoch, in the job's private folder; SINEW_WORLD_FILE names
/// it.
///
/// A line per fact, `word value`, in a fixed order:
///     sinew-world 1
///     job 4f1c
///     epoch 0
///     key 64 hexadecimal digits
///     nodes 2           then as many lines `node NAME`
///     ranks 3           then for each: `rank NODE LOCAL_RANK`, `local ADDRESS`, `remote ADDRESS`
///     end
/// `remote` is left out for ranks that listen on a Unix socket only.
struct WorldFile {
    struct Rank {
        int node = 0;                         ///< index into `nodes`
        int local_rank = 0;                   ///< among the ranks of its node
        wire::Address local;                  ///< for ranks of the same node
        std::optional<wire::Address> remote;  ///< for all others
        friend bool operator==(Rank const&, Rank const&) = default;
    };

    std::string job;
    std::uint32_t epoch = 0;
    wire::Secret key;  ///< of the data plane alone: derived from the job's secret and the epoch
    std::vector<std::string> nodes;
    std::vector<Rank> ranks;

    /// Throws UsageError when a name cannot stand in a line.
    std::string text() const;
    /// Takes exactly what `text` gives. Throws UsageError naming the line; never repeats the key.
    static WorldFile parse(std::string_view text);

    /// Refuses what is not a file of this user that only this user can read (UsageError), since it
    /// says whom to trust. Throws SystemError when it cannot be read.
    static WorldFile read(std::string const& path);
    /// Mode 0600, and whole or not at all for whoever reads it. Throws SystemError.
    void write(std::string const& path) const;

    int size() const { return static_cast<int>(ranks.size()); }
    /// How `from` reaches `to`. Throws UsageError when they share no node and `to` has no address
    /// for that.
    wire::Address const& address(int from, int to) const;
};

/// In the folder of a job's epoch: there while this rank is in its World over sockets.
std::string presence_file(std::string const& folder, int rank);

}  // namespace sinew
