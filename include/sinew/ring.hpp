// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <concepts>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sinew/detail/ring_call.hpp>
#include <sinew/error.hpp>
#include <sinew/meta.hpp>
#include <sinew/node.hpp>
#include <sinew/ring_member.hpp>

namespace sinew {

struct RingOptions {
    std::string name = {};  ///< for people and for ps; empty: "ring-1", "ring-2", ...
    /// Where its members run: equal shares of them on each, those of one node in a row. Empty: on this
    /// host. See Nodes. A node that is lost when the ring starts again has none any more.
    std::vector<Node> nodes = {};
    /// What each member that is a process is to have of its host. Default: what the target wants (see
    /// meta_of).
    Meta meta = {};
    /// Rank 0 is the thread that calls run(), as in Fiber. Its environment is that of a member
    /// meanwhile. Nobody can end it: run() returns no earlier than its target.
    bool member_zero_is_caller = false;
    /// A ring that lost a member starts again, wholly, so many times. Exceptions of members do not
    /// start it again.
    int max_restarts = 0;
    /// A folder in which the last commit outlives this process too, on a disk that keeps what it was given:
    /// see RingMember::commit. A ring of as many members that begins with one which has a commit goes on
    /// from that. It is made for this user alone; one ring at a time has it. Empty: in memory only.
    std::string folder = {};
    /// Until all members have joined.
    std::chrono::nanoseconds start_timeout = std::chrono::seconds(60);
    /// When a member has failed, what the others get between SIGTERM and SIGKILL.
    std::chrono::nanoseconds grace = std::chrono::seconds(1);
    /// A member whose process shows no sign of life for so long (stopped, swapped out; not: busy) is
    /// killed, and has failed. 0: never.
    std::chrono::nanoseconds silence = std::chrono::seconds(60);
};

/// How a member ended.
struct RingStatus {
    int rank = 0;
    std::string host;
    pid_t pid = 0;
    std::string end;  ///< "returned", "killed by signal 9 (Killed)", "threw std::bad_alloc: ..."
};

/// A member failed; all others have been ended. what() names rank, host, pid and reason.
class RingFailed : public Error {
public:
    RingFailed(std::string const& what, RingStatus culprit, std::vector<RingStatus> statuses,
               std::exception_ptr cause)
        : Error(what), culprit_(std::move(culprit)), statuses_(std::move(statuses)),
          cause_(std::move(cause)) {}
    /// Of the member that failed first.
    int rank() const noexcept { return culprit_.rank; }
    std::string const& host() const noexcept { return culprit_.host; }
    pid_t pid() const noexcept { return culprit_.pid; }
    std::string const& reason() const noexcept { return culprit_.end; }
    /// Of all, by rank.
    std::vector<RingStatus> const& statuses() const noexcept { return statuses_; }
    /// What it threw, as its std type where that is known (see remote_error.hpp); null: it died.
    std::exception_ptr const& cause() const noexcept { return cause_; }

private:
    RingStatus culprit_;
    std::vector<RingStatus> statuses_;
    std::exception_ptr cause_;
};

/// Equal members, processes of this same program, that have a communicator. main() must begin with
/// sinew::init(argc, argv).
///
///     sinew::Ring ring(4, [](sinew::RingMember& me, std::uint64_t seed) { ... },
///                      [](sinew::RingMember& me) { train(me.communicator()); }, {}, seed);
///     ring.run();
///
/// Each member runs init, with the arguments that follow the options, then the target. Both are
/// lambdas without captures, sinew::task<function> or serialisable function objects, and take
/// (RingMember&), Fiber's (int rank, int size), or nothing; what they return is dropped.
///
/// The members die with this process, whatever happens to it, and have process groups of their own.
/// Environment, failures, restarts: docs/ring.md.
class Ring {
public:
    template <class Init, class Target, class... InitArgs>
    requires(!std::same_as<Init, RingOptions> && !std::same_as<Target, RingOptions>)  //
        Ring(int size, Init const& init, Target const& target, RingOptions options = {},
             InitArgs const&... initargs)
        : Ring(size, std::move(options),
               Entries{&detail::RingCall<Init, std::decay_t<InitArgs const>...>::entry(),
                       &detail::RingCall<Target>::entry()}) {
        using InitCall = detail::RingCall<Init, std::decay_t<InitArgs const>...>;
        InitCall::encode_function(init_state(), init);
        InitCall::encode_arguments(arguments(), initargs...);
        detail::RingCall<Target>::encode_function(target_state(), target);
    }
    /// Without an init.
    template <class Target>
    requires(!std::same_as<Target, RingOptions>)  //
        explicit Ring(int size, Target const& target, RingOptions options = {})
        : Ring(size, std::move(options), Entries{nullptr, &detail::RingCall<Target>::entry()}) {
        detail::RingCall<Target>::encode_function(target_state(), target);
    }
    Ring(Ring&&) noexcept;
    Ring& operator=(Ring&&) noexcept;
    ~Ring();

    /// Starts the members and waits until all have returned: their statuses, by rank. Throws
    /// RingFailed when one has died, thrown or not come up, after the others have been ended, within
    /// two seconds and by SIGKILL at the latest; SystemError (no more processes or descriptors; a
    /// RingOptions::folder that cannot be read); UsageError (no sinew::init; a folder that is another
    /// ring's, or of another size); DecodeError (what lies there is damaged). A ring can be run again,
    /// by one thread at a time.
    std::vector<RingStatus> run();

    int size() const;
    std::string const& name() const;
    /// Of the last run.
    int restarts() const;

private:
    struct State;
    struct Entries {
        detail::TaskEntry const *init, *target;
    };
    Ring(int size, RingOptions options, Entries const& entries);
    Writer& init_state();
    Writer& target_state();
    Writer& arguments();
    std::unique_ptr<State> state_;
};

}  // namespace sinew
