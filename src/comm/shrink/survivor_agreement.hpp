// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sinew::detail {

/// The agreement of the ranks that are left on who they are: this rank's part in it, without I/O.
///
/// The lowest rank that is not known to have died coordinates. Every rank reports to it whom it takes for
/// dead; when all others have reported or died, the coordinator decides. Who learns a decision sends
/// it on to all ranks before it uses it, so that a decision which any rank has used reaches all that
/// are left. A rank that has reported to a coordinator takes only decisions that this one or a higher
/// rank has made, or that this one has sent on; a coordinator takes the latest that it knows.
///
/// Requires of the medium that messages between two ranks stay in order, and of whoever reports deaths that
/// only dead ranks are reported. Where a network is cut in two, each side takes the other for dead
/// and decides for itself.
class SurvivorAgreement {
public:
    enum class Kind : std::uint32_t {
        report = 1,  ///< to the coordinator: what this rank knows
        decision,
    };
    struct Message {
        Kind kind = Kind::report;
        int coordinator = 0;             ///< to whom a report goes, or whose decision it is
        std::uint64_t lane = 0;          ///< see Transport::free_lane: proposed, or agreed
        std::vector<std::uint8_t> left;  ///< by rank: whether it is not known to be dead, or is in

        /// As it is sent, and back. Nothing is returned for bytes that no rank of `size` ranks sends.
        std::vector<std::byte> encoded() const;
        static std::optional<Message> decode(std::span<std::byte const> bytes, int size);
        static std::size_t encoded_size(int size);
    };
    struct Outgoing {
        int to;
        Message message;
    };

    /// `lane` is what this rank proposes.
    SurvivorAgreement(int rank, int size, std::uint64_t lane);

    /// `rank` has died. Messages that it has sent before need not have been received.
    /// Returns false if that was known.
    bool lose(int rank);
    void receive(int from, Message message);

    /// Returns the messages to be sent, and forgets them.
    std::vector<Outgoing> take_outgoing();
    /// Set once. The messages that were to be sent then must be sent before it is used.
    std::optional<Message> const& decision() const { return decision_; }
    /// The ranks without whose message or death there is no decision.
    std::vector<int> awaited() const;

private:
    bool is_lost(int rank) const { return left_[static_cast<std::size_t>(rank)] == 0; }
    void proceed();
    void coordinate();
    Message const* latest_known() const;
    void decide(Message decision);

    int const rank_, size_;
    std::uint64_t const lane_;
    std::vector<std::uint8_t> left_;  // by rank: not known to be dead
    int coordinator_ = -1;            // the last to whom this rank has reported, or itself
    std::vector<std::optional<Message>> reports_;    // to this rank, by sender
    std::vector<std::optional<Message>> decisions_;  // by sender
    std::optional<Message> decision_;
    std::vector<Outgoing> outgoing_;
};

}  // namespace sinew::detail
