// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <sinew/comm/algorithm.hpp>
#include <sinew/comm/topology.hpp>
#include <sinew/comm/transport.hpp>

#include "src/comm/black_box/operation_log.hpp"

namespace sinew::detail {

/// The position of a rank in a communicator's sequence of collectives. Sent as it is.
struct RankProgress {
    OperationRecord last;         ///< the last collective that it entered; sequence 0: none yet
    OperationRecord at_sequence;  ///< in a reply: the one whose number the query gave, if known
    bool inside = false;          ///< it has entered but not left the last one
};

/// Detects dead, silent and late peers of a communicator, and reports this rank's state to them.
///
/// Runs a small protocol over the transport on a separate tag: a rank that waits too long queries
/// the progress of the others; a rank that gives up sends them the reason. Each poll also asks the
/// medium for dead ranks. `poll` answers for this rank; waits call it and, if the engine has a
/// thread, so does that thread while the application computes. Thread-safe.
class FailureDetector {
public:
    /// `log` tells where this rank is.
    FailureDetector(Transport& transport, NodeLayout const& nodes, int tag,
                    OperationLog const& log);
    ~FailureDetector();

    /// Receives and answers the notices of peers. Does nothing while another thread holds the lock.
    void poll();
    /// Returns why this communicator cannot continue: a peer has given up or died, or this rank has
    /// given up in another operation. Returns nothing if there is no reason, or the lock is held.
    std::optional<std::string> trouble();
    /// The result of `investigate`.
    struct Findings {
        std::string text;           ///< description for an error
        bool only_late = false;     ///< all ranks answer, so the missing messages may still come
        bool all_came = false;      ///< no rank is behind, dead or silent
        bool calls_differ = false;  ///< a rank is or was in another call than this one
        bool speaks = false;  ///< this rank is the lowest that waits, and should log the warning
    };
    /// Queries all ranks and describes which of them are dead, silent or, if `in_collective`, have
    /// not entered the current collective or made another call instead of it; otherwise only `peer` counts, or all ranks if it is
    /// negative. Takes about 1 s at most.
    Findings investigate(bool in_collective, int peer);
    /// Notifies every peer, once, that this rank gives up.
    void give_up(std::string const& reason) noexcept;

    /// Returns "rank 3 on node-b".
    std::string rank_text(int rank) const;
    /// Returns "rank 3 of 8 on node-b".
    std::string self_text() const;

private:
    enum class Kind : std::uint32_t { query = 1, reply, gave_up };
    /// A message of the protocol. Its size is the same on all ranks of a job.
    struct Notice {
        std::uint32_t magic = 0x73'6e'65'77;
        Kind kind = Kind::query;
        std::uint64_t query = 0;
        RankProgress progress;
        char reason[400] = {};
    };
    struct Sending {
        Transport::Ticket ticket;
        std::unique_ptr<Notice> notice;
    };
    struct Receiving {
        Transport::Ticket ticket;
        std::unique_ptr<Notice> notice;
        int from;
    };

    RankProgress progress() const noexcept;
    void send(int to, Notice const& notice) noexcept;
    bool has_ended(Sending& sending) noexcept;
    void take_in(int from, Notice const& notice);
    void receive_locked();
    void poll_locked();
    std::string lateness_of(int rank, RankProgress const& mine) const;
    std::string other_call_of(int rank, RankProgress const& mine) const;

    Transport& transport_;
    NodeLayout const& nodes_;
    int tag_;
    OperationLog const& log_;

    std::mutex mutex_;
    std::vector<Sending> sending_;
    std::vector<Receiving> receiving_;  // found by probe, in the order of their arrival
    std::vector<std::optional<RankProgress>> answers_;  // answers to the current query, by rank
    std::uint64_t query_ = 0;
    std::string first_reason_;  // reason of the peer that gave up first
    int first_peer_ = -1;
    std::vector<bool> gave_up_before_;  // by rank; the death of such a rank is no cause
    std::vector<int> lost_;
    int first_dead_ = -1;  // the first lost rank that had not given up
    std::optional<std::chrono::steady_clock::time_point> dead_since_;
    bool gave_up_ = false;
    std::string own_reason_;
};

}  // namespace sinew::detail
