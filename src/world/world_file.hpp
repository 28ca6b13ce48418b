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

/// The information that an agent gives its ranks: the nodes and ranks of the job, the addresses on
/// which each rank listens, and the key that authenticates them. There is one file per node and
/// epoch in the job's private folder; SINEW_WORLD_FILE names it.
///
/// The lines have the form `word value` and a fixed order:
///     sinew-world 1
///     job 4f1c
///     epoch 0
///     key 64 hexadecimal digits
///     nodes 2           then as many lines `node NAME`
///     ranks 3           then for each: `rank NODE LOCAL_RANK`, `local ADDRESS`, `remote ADDRESS`
///     end
/// `remote` is omitted for ranks that listen on a Unix socket only.
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
    wire::Secret key;  ///< key of the data plane, derived from the job's secret and the epoch
    std::vector<std::string> nodes;
    std::vector<Rank> ranks;

    /// Throws UsageError if a name is empty or has control characters.
    std::string text() const;
    /// Accepts exactly the format of `text`. Throws UsageError naming the line, but never the key.
    static WorldFile parse(std::string_view text);

    /// Reads and parses a file. Throws SystemError if it cannot be read, UsageError unless it is a
    /// regular file of this user, closed to all others, as it is trusted.
    static WorldFile read(std::string const& path);
    /// Writes the file atomically, with mode 0600. Throws SystemError.
    void write(std::string const& path) const;

    int size() const { return static_cast<int>(ranks.size()); }
    /// Returns the address by which `from` reaches `to`. Throws UsageError if they are on different
    /// nodes and `to` has no remote address.
    wire::Address const& address(int from, int to) const;
};

/// Returns the path of the file in `folder`, a job's folder for one epoch, that exists while the
/// rank is in its World over sockets.
std::string presence_file(std::string const& folder, int rank);

}  // namespace sinew
