// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "launchers/tree/protocol.hpp"

namespace sinew::launch {

/// Decides which agents may join. All have proved that they know the job's secret; this is about
/// which process may serve a node. Pure.
///
/// An agent that was started for the job has an incarnation, and only the one expected may join.
/// One that comes by itself has none. Among several for one node the one that began last stays: a
/// newcomer takes the place of an agent that is present, whose link may be half-open since its host
/// is gone; and who has been replaced is refused for good, so that a host that returns does not
/// disturb the replacement. An agent that began before the one present is asked to try later: the
/// clocks may differ, and a node that is really gone is soon noticed. The incarnation of one that
/// comes by itself counts how often the same process has dialled anew, which it may at any time.
class Admission {
public:
    struct Verdict {
        std::string refused;    ///< why; empty: it may join
        bool later = false;     ///< it may be accepted later
        bool replaces = false;  ///< the agent present must go first
    };

    /// Only this incarnation of the node may join.
    void expect(int node, std::uint32_t incarnation);
    /// An agent of this node may come by itself, now and again after each loss.
    void expect_by_itself(int node);
    /// No agent of this node may join any more.
    void dismiss(int node);
    /// The agent that was present is gone: its incarnation may not come again.
    void gone(int node);

    /// `node`: from the authenticated identity of the link. `present`: an agent of this node has
    /// been accepted and is not gone. Remembers whom it accepts.
    Verdict judge(int node, Hello const& hello, bool present);

private:
    struct Seat {
        bool expected = true;
        bool by_itself = false;
        std::uint32_t incarnation = 0;  ///< expected; by_itself: of who was accepted last
        std::uint64_t process = 0;      ///< who was accepted last, of those that come by themselves
        std::int64_t began_ms = 0;
        std::set<std::uint64_t> replaced;
    };
    std::map<int, Seat> seats_;
};

}  // namespace sinew::launch
