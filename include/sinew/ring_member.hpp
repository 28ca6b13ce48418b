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

/// Where a member of a ring is.
struct RingNode {
    int rank = 0;
    std::string host;     ///< name of its machine
    std::string address;  ///< under which the others reach it
    /// A TCP port that is the member's own: see RingMember::release_port.
    std::uint16_t port = 0;
    pid_t pid = 0;
};

/// What a member of a Ring has: who it is, who the others are, and the way to talk to them. For one
/// thread at a time; valid until the target has returned.
class RingMember {
public:
    explicit RingMember(ring::MemberState& state) : state_(state) {}
    RingMember(RingMember const&) = delete;
    RingMember& operator=(RingMember const&) = delete;

    int rank() const;
    int size() const;
    /// Of the ring, as RingOptions has it.
    std::string const& name() const;
    /// By rank. The same in all members.
    std::vector<RingNode> const& members() const;
    /// Who comes before (after) this one; itself in a ring of one.
    RingNode const& left() const;
    RingNode const& right() const;
    /// Over all members, by sockets. When a member dies or fails, its calls throw PeerLost naming it.
    Communicator& communicator();
    /// How often the ring was started again before.
    int epoch() const;

    /// Port members()[rank()].port was kept from everybody else until now. A program that sets
    /// SO_REUSEADDR (torch, NCCL, gloo, most servers do) can listen on it without this call; all
    /// others after it.
    void release_port();

    /// Gives a copy of `value` to the process that started the ring, from which committed() has it
    /// when the ring starts again. Collective: returns when every member has made its n-th commit,
    /// which all count together, or none. The ring fails when a member does not come to it within
    /// SINEW_TIMEOUT. With RingOptions::folder, it counts once it is on the disk; where that fails, all
    /// members throw SystemError, it does not count, and they may go on.
    template <class T>
    void commit(T const& value) {
        Writer writer;
        encode(writer, value);
        commit_state(typeid(T).name(), writer.bytes());
    }
    /// This member's part of the last commit, of this start of the ring or of an earlier one, or of an
    /// earlier program's in RingOptions::folder. Nothing: there was none. UsageError: it was of another type.
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
