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

    void encode_to(Writer& writer) const;
    static Work decode_from(Reader& reader);
};

/// A member's part of a commit.
struct State {
    std::string type;  ///< mangled
    Bytes value;
    void encode_to(Writer& writer) const;
    static State decode_from(Reader& reader);
};

/// Why a commit does not count.
struct CommitFailure {
    std::string what;
    int error_number = 0;
    void encode_to(Writer& writer) const;
    static CommitFailure decode_from(Reader& reader);
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

    void encode_to(Writer& writer) const;
    static MemberOrder decode_from(Reader& reader);
};

struct Joined {
    std::string host;
    std::uint16_t port = 0;
    std::string address, listener;  ///< complete, from the MemberOrder
    std::string remote;             ///< for members of other nodes; empty: there are none
    void encode_to(Writer& writer) const;
    static Joined decode_from(Reader& reader);
};

/// What a member needs to find all others.
struct Table {
    int epoch = 0;
    std::string key;  ///< of the data plane, for this epoch; hexadecimal
    std::vector<RingNode> members;
    std::vector<std::string> listeners;  ///< this and the following: by rank
    std::vector<std::string> remotes;
    std::vector<int> nodes;  ///< 0, 1, ... in the order of their first ranks
    void encode_to(Writer& writer) const;
    static Table decode_from(Reader& reader);
};

template <class T>
Bytes to_bytes(T const& value) {
    Writer writer;
    value.encode_to(writer);
    auto const bytes = writer.bytes();
    return {bytes.begin(), bytes.end()};
}
template <class T>
T from_bytes(std::span<std::byte const> bytes) {
    Reader reader(bytes);
    return T::decode_from(reader);
}

}  // namespace sinew::ring
