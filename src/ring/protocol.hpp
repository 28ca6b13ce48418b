// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <sinew/detail/task.hpp>
#include <sinew/ring_member.hpp>
#include <string>
#include <vector>

#include "src/process/runtime.hpp"
#include "src/task/to_bytes.hpp"

// Messages between the process that runs a ring (the parent) and its members. All use the control
// link except states, which may be large.
//
//     parent   MemberOrder (with the process)
//     member   joined: Joined          its sockets are bound
//     parent   go: Table               all have joined
//     member   piece: of a state; commit: number, the state's last piece   (bulk)
//     parent   committed               all have made it; or refused: CommitFailure, not kept
//     member   returned, or failed: ErrorRecord
//     parent   leave                   all have returned: their sockets are no longer needed
namespace sinew {

template <class Archive>
void serialize(Archive& archive, RingNode& node) {
    archive(node.rank, node.host, node.address, node.port, node.pid);
}

}  // namespace sinew

namespace sinew::ring {

using Bytes = std::vector<std::byte>;

namespace kinds {
constexpr std::uint8_t joined = process::kinds::child, go = joined + 1, commit = joined + 2,
                       committed = joined + 3, returned = joined + 4, failed = joined + 5,
                       leave = joined + 6, refused = joined + 7, piece = joined + 8;
}  // namespace kinds

/// The functions that every member calls.
struct Work {
    detail::TaskId target, init;
    bool has_init = false;
    Bytes target_state, init_state, arguments;

    template <class Archive>
    void serialize(Archive& archive) {
        archive(target, init, has_init, target_state, init_state, arguments);
    }
};

/// A member's part of a commit.
struct State {
    std::string type;  ///< mangled
    Bytes value;

    template <class Archive>
    void serialize(Archive& archive) {
        archive(type, value);
    }
};

/// Why a commit does not count.
struct CommitFailure {
    std::string what;
    int error_number = 0;

    template <class Archive>
    void serialize(Archive& archive) {
        archive(what, error_number);
    }
};

struct MemberOrder {
    int rank = 0, size = 1, epoch = 0;
    std::string name;  ///< of the ring
    /// Path of the Unix socket to listen on; without a folder, in the folder of the member's
    /// session there.
    std::string listener;
    std::string address;  ///< of its host, for the table; empty: as its session has it there
    bool spans = false;   ///< members of other nodes dial it: it listens on TCP, too
    Work work;
    std::uint64_t commits = 0;       ///< that count
    std::optional<State> committed;  ///< the last of them

    template <class Archive>
    void serialize(Archive& archive) {
        archive(rank, size, epoch, name, listener, address, spans, work, commits, committed);
    }
};

struct Joined {
    std::string host;
    std::uint16_t port = 0;
    std::string address, listener;  ///< complete, from the MemberOrder
    std::string remote;             ///< for members of other nodes; empty: there are none

    template <class Archive>
    void serialize(Archive& archive) {
        archive(host, port, address, listener, remote);
    }
};

/// What a member needs to find all others.
struct Table {
    int epoch = 0;
    std::string key;  ///< of the data plane, for this epoch; hexadecimal
    std::vector<RingNode> members;
    std::vector<std::string> listeners;  ///< this and the following: by rank
    std::vector<std::string> remotes;
    std::vector<int> nodes;  ///< 0, 1, ... in the order of their first ranks

    template <class Archive>
    void serialize(Archive& archive) {
        archive(epoch, key, members, listeners, remotes, nodes);
        if (typename Archive::is_loading()) require_sound();
    }
    /// Throws DecodeError if the lists do not fit together.
    void require_sound() const;
};

}  // namespace sinew::ring
