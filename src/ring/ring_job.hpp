// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <optional>
#include <sinew/ring.hpp>
#include <string>
#include <vector>

#include "src/process/background_work.hpp"
#include "src/process/child/child.hpp"
#include "src/ring/commit_file.hpp"
#include "src/ring/commits.hpp"
#include "src/ring/first_failure.hpp"
#include "src/ring/member_endpoints.hpp"
#include "src/ring/protocol.hpp"

namespace sinew::ring {

/// The parameters of a job.
struct Plan {
    int size = 1;
    int number = 1;  ///< of the ring, in this process
    RingOptions options;
    Work work;
    std::chrono::nanoseconds commit_timeout{};
    std::string address;  ///< of this host
};

/// Where a ring's commits are written before they count.
struct CommitStore {
    CommitStore(CommitFile file_, wire::Loop& loop) : file(std::move(file_)), work(loop) {}
    CommitFile const file;
    process::BackgroundWork work;
};

/// The members of a ring from one start to the end of all of them. Events of the members are
/// handled on the runtime's thread; the methods are for the thread that runs the ring.
///
/// After the first failure, all other members are ended: those in a collective notice it
/// themselves, and have the time `notice` to report it; then they get SIGTERM, and SIGKILL after
/// `grace`.
class RingJob {
public:
    /// `store`: where commits are kept, too; null: in memory only.
    RingJob(Plan const& plan, Commits& commits, CommitStore* store, int epoch);
    RingJob(RingJob const&) = delete;
    RingJob& operator=(RingJob const&) = delete;
    /// Kills all members that are left.
    ~RingJob();

    /// Starts all members and waits until they have joined. Returns false if one has failed.
    /// `caller`: the endpoints of rank 0, if that is this process. Throws SystemError, UsageError.
    bool assemble(MemberEndpoints const* caller);
    MemberOrder order_of(int rank) const;
    Table table() const;
    /// The commit of rank 0, if that is the caller. Throws PeerLost if the ring fails meanwhile;
    /// SystemError if it could not be kept.
    void commit_of_caller(std::uint64_t number, State const& state);
    void caller_returned();
    void caller_failed(ErrorRecord const& record, std::exception_ptr thrown);
    /// Waits until all have ended.
    std::vector<MemberRecord> wait_for_end();

private:
    MemberRecord& record(int rank) { return records_[static_cast<std::size_t>(rank)]; }
    process::Child* child(int rank) { return children_[static_cast<std::size_t>(rank)].get(); }
    int first_child() const { return plan_.options.member_zero_is_caller ? 1 : 0; }
    MemberOrder order(int rank) const;
    Node const& node_of(int rank) const;
    void place_members();
    void start(int rank);
    void hear(int rank, wire::Message const& message);
    void hear_commit(int rank, wire::Message const& message);
    void take_in(int rank, Joined const& joined);
    void all_have_joined();
    void returned(int rank);
    void commit(int rank, std::uint64_t number, State state);
    void keep_commit();
    void kept(std::exception_ptr const& error);
    void watch_commits();
    void ended(int rank, process::ChildEnd const& how);
    void note_liveness(int rank, wire::Liveness now);
    void limit_silence(int rank);
    void to_all(std::uint8_t kind);
    // Failures.
    void fail(int rank, std::string const& attribution = "");
    void attribute_absent();
    void attribute_uncommitted(bool time_is_over);
    void attribute_folder();
    void attribute_remaining();
    void end_others();
    void signal_all(int number);
    std::string rank_text(int rank) const;
    bool over() const;

    Plan const& plan_;
    Commits& commits_;
    CommitStore* const store_;
    int const epoch_;
    process::Runtime& runtime_;
    std::condition_variable changed_;
    // Under the runtime's guard.
    std::vector<Node> nodes_;  ///< those that are not lost
    Table table_;
    std::vector<MemberRecord> records_;
    std::vector<std::unique_ptr<process::Child>> children_;
    std::vector<Bytes> pieces_;  ///< of states that are incomplete
    std::vector<char> silent_;   ///< as its link reports; means nothing before it has joined
    std::vector<wire::Loop::Handle> silences_;
    wire::Loop::Handle timer_, commit_timer_;
    bool met_ = false, leaving_ = false, failing_ = false, given_up_ = false;
    bool caller_over_ = true;
    bool being_kept_ = false;               ///< the complete commit is being kept
    std::optional<CommitFailure> refusal_;  ///< of the caller's last commit
    std::shared_ptr<RingJob*> self_;        ///< for callbacks that may come after its end
    int failures_ = 0;
};

}  // namespace sinew::ring
