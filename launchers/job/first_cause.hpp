// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace sinew::launch {

/// Determines why a job ended: collects the reported events in the order of arrival, and separates
/// the first cause from its consequences. There is one per epoch. Pure.
///
/// The first cause is the first failure to arrive of something that was not told to end. A rank
/// that fails after it was told to (`stopped`) is a consequence, not a failure. A rank that exits
/// with code 0 in the middle of its World, without being told to, is a success as long as all
/// others are; if another rank then stops by an error (a code, SIGABRT), as after losing a peer,
/// the rank that left is the first cause. Events of two nodes may arrive out of order.
class FirstCause {
public:
    struct Who {
        int rank = -1;
        std::string node;
        pid_t pid = 0;  ///< 0: not known, or it was not started
    };
    /// How a rank ended.
    struct End {
        int code = 0;
        int signal = 0;           ///< 0: it exited with `code`
        bool stopped = false;     ///< its agent had told it to end
        bool unfinished = false;  ///< had called MPI_Init, and not MPI_Finalize
        bool in_world = false;    ///< non-MPI: it had not left its World
        std::string detail = {};  ///< "the kernel ran out of memory"
    };

    void rank_ended(Who const& who, End const& end);
    /// Reports MPI_Abort. The end of the rank itself, which follows, adds nothing.
    void rank_aborted(Who const& who, int status, std::string const& message);
    /// `step` is what failed, such as "exec ./prog"; `error` is its errno.
    void rank_not_started(Who const& who, int error, std::string const& step);
    void node_lost(std::string const& node, std::string const& why);
    /// Reports any other failure of the launcher: no agent on a host, a refused ssh.
    void launcher_failed(std::string const& why);
    void timed_out(std::string const& limit);
    /// Reports that `sinew run` was told to end: on `node`; empty: where the user is.
    void interrupted(int signal, std::string const& node = {});
    /// The same by `sinew stop`; `by` says who: "user 0, pid 12".
    void stopped(std::string const& by);

    bool failed() const { return first_ != nothing; }
    /// Whether the first cause is that a rank's program could not be started.
    bool not_started() const { return failed() && events_[first_].kind == Kind::not_started; }
    std::size_t failures() const { return failures_; }
    /// The exit code of `sinew run`: 0, the code of the first cause or 128 + its signal; 124
    /// timeout, 125 launcher, 126 not executable, 127 not found.
    int exit_code() const;
    /// A line such as "rank 3 on node-b (pid 4711): killed by signal 9 (Killed), first of 2
    /// failures", or "node-b: lost: its link ended (then 2 failures elsewhere)". Empty if nothing
    /// failed.
    std::string summary() const;
    /// A table of all events for people: by rank, then the events without a rank.
    std::string table() const;
    /// The same as one JSON object on one line, with the exit code and the summary.
    std::string json() const;

private:
    enum class Kind { exited, signalled, aborted, not_started, lost, launcher, timeout, interrupt };
    enum class Part { success, failure, victim };
    struct Event {
        Kind kind = Kind::exited;
        Part part = Part::failure;
        Who who;
        int number = 0;  ///< code, signal, status or errno
        bool unfinished = false;
        std::string detail;
        bool deserted = false;  ///< ended with code 0 in the middle of its World
    };
    static constexpr std::size_t nothing = static_cast<std::size_t>(-1);

    void add(Event event);
    void add_interrupt(int signal, std::string const& how, std::string const& node = {});
    void blame_deserter();
    void add_own(Kind kind, int number, std::string const& detail, std::string const& node = {});
    static char const* name(Kind kind);
    static std::string what(Event const& event);
    static std::string where(Event const& event);
    std::vector<std::size_t> by_rank() const;

    std::vector<Event> events_;           ///< in the order of arrival
    std::map<int, std::size_t> of_rank_;  ///< indices of events_
    std::size_t first_ = nothing;
    std::size_t failures_ = 0;
};

}  // namespace sinew::launch
