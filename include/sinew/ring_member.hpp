// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <typeinfo>
#include <vector>

#include <sinew/communicator.hpp>
#include <sinew/task/encoding.hpp>

namespace sinew {

namespace ring {
struct MemberState;
}

/// The place of one member of a ring.
struct RingNode {
    int rank = 0;
    std::string host;     ///< name of its machine
    std::string address;  ///< address under which the other members reach it
    /// A TCP port that is reserved for this member; see RingMember::release_port.
    std::uint16_t port = 0;
    pid_t pid = 0;
};

/// The member's view of a Ring: its rank, the other members, and a communicator over all of them.
/// Valid until the target has returned; for one thread at a time.
class RingMember {
public:
    explicit RingMember(ring::MemberState& state) : state_(state) {}
    RingMember(RingMember const&) = delete;
    RingMember& operator=(RingMember const&) = delete;

    /// This member's number, from 0 to size() - 1.
    int rank() const;
    int size() const;
    /// The ring's name; see RingOptions::name.
    std::string const& name() const;
    /// All members by rank. The list is the same on all members.
    std::vector<RingNode> const& members() const;
    /// The member before (after) this one, in a cycle; in a ring of one, the member itself.
    RingNode const& left() const;
    RingNode const& right() const;
    /// A communicator of all members, over sockets. If a member dies or fails, calls throw
    /// PeerLost, whose text names that member.
    Communicator& communicator();
    /// How many times the ring was restarted before this run.
    int epoch() const;

    /// Unbinds port members()[rank()].port, which this member has kept bound. A program that sets
    /// SO_REUSEADDR (torch, NCCL, gloo and most servers do) can listen on the port without this
    /// call; others must call it first.
    void release_port();

    /// Saves a copy of `value` in the process that started the ring; committed() returns it after a
    /// restart. Collective: returns when every member has made its n-th commit. The n-th commits of
    /// all members count together or not at all. The ring fails if a member does not make its
    /// commit within SINEW_TIMEOUT. With RingOptions::folder, a commit counts once it is on disk;
    /// if it cannot be written, all members throw SystemError, the commit does not count, and they
    /// may continue.
    template <class T>
    void commit(T const& value) {
        Writer writer;
        encode(writer, value);
        commit_state(typeid(T).name(), writer.bytes());
    }
    /// Returns this member's part of the last commit: of this run, of a run before a restart, or,
    /// with RingOptions::folder, of an earlier program. Returns nothing if there was no commit.
    /// Throws UsageError if the commit has another type.
    template <class T>
    std::optional<T> committed() const {
        auto const bytes = committed_state(typeid(T).name());
        if (!bytes) return std::nullopt;
        Reader reader(*bytes);
        return decode<T>(reader);
    }

private:
    void commit_state(char const* type, std::span<std::byte const> value);
    std::optional<std::span<std::byte const>> committed_state(char const* type) const;
    ring::MemberState& state_;
};

}  // namespace sinew
