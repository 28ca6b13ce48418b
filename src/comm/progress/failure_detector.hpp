// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
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

namespace sinew::detail {

/// Where a rank stands in a communicator's sequence of collectives. Encodable as it is.
struct RankProgress {
    std::uint64_t sequence = 0;  ///< number of the last collective it entered; 0: none yet
    Collective collective = Collective::barrier;
    bool inside = false;  ///< has entered but not left it
};

/// What a communicator knows of its peers' well-being, and what it tells them about its own.
///
/// Speaks a small protocol over the transport, on a tag of its own: whoever waits too long asks the
/// others where they stand; whoever gives up says so, with the reason. Peers that the medium knows
/// to be dead are asked for at every check. `poll` answers for this rank; it is called from waits
/// and, where threads are allowed, by the engine now and then while the application computes.
/// Thread-safe.
class FailureDetector {
public:
    FailureDetector(Transport& transport, NodeLayout const& nodes, int tag);
    ~FailureDetector();

    /// This rank enters (leaves) a collective. The only calls on the fast path.
    std::uint64_t enter(Collective collective) noexcept {
        progress_.store(++sequence_ << 8 | static_cast<std::uint64_t>(collective) << 1 | 1,
                        std::memory_order_release);
        return sequence_;
    }
    void leave() noexcept {
        progress_.store(progress_.load(std::memory_order_relaxed) & ~std::uint64_t{1},
                        std::memory_order_release);
    }

    /// Takes in and answers what peers have sent. Skipped when another thread is at it.
    void poll();
    /// Why this communicator cannot go on, if a peer gave up or died, or this rank gave up before
    /// (in another operation).
    std::optional<std::string> trouble();
    /// What `investigate` found.
    struct Findings {
        std::string text;        ///< in words, for an error
        bool only_late = false;  ///< all answer, so that what is missing may still come
        bool all_came = false;   ///< nobody is behind, dead or silent
        bool speaks = false;     ///< this rank is the lowest of those that wait: one line is enough
    };
    /// Asks everyone where they stand and says in words which ranks have not arrived in the
    /// collective under way (`in_collective`), or what `peer` was last seen doing. Bounded: about 1 s.
    Findings investigate(bool in_collective, int peer);
    /// Tells every peer that this rank gives up, once.
    void give_up(std::string const& reason) noexcept;

    /// "rank 3 on node-b".
    std::string rank_text(int rank) const;
    /// "rank 3 of 8 on node-b".
    std::string self_text() const;

private:
    enum class Kind : std::uint32_t { query = 1, reply, gave_up };
    /// One message of the protocol; fixed size, the same on all ranks of a job.
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
    std::string describe(int rank, RankProgress const& mine) const;

    Transport& transport_;
    NodeLayout const& nodes_;
    int tag_;
    std::uint64_t sequence_ = 0;
    std::atomic<std::uint64_t> progress_{0};

    std::mutex mutex_;
    std::vector<Sending> sending_;
    std::vector<Receiving> receiving_;  // found by probe, in the order of their arrival
    std::vector<std::optional<RankProgress>> answers_;  // to the current query, by rank
    std::uint64_t query_ = 0;
    std::string first_reason_;  // of the peer that gave up first
    int first_peer_ = -1;
    std::vector<int> lost_;
    std::optional<std::chrono::steady_clock::time_point> lost_since_;
    bool gave_up_ = false;
    std::string own_reason_;
};

}  // namespace sinew::detail
