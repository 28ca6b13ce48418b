// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "k8s/client.hpp"
#include "k8s/objects/job_view.hpp"
#include "launchers/io/output_record.hpp"
#include "launchers/kubernetes/pod_table.hpp"
#include "launchers/kubernetes/root_log.hpp"

namespace sinew::launch::kubernetes {

/// How a job on a cluster ended.
struct JobEnd {
    int exit_code = 0;
    std::string cause;  ///< empty: nothing failed
    int restarts = 0;
};

/// Reads what the root wrote when it ended: the message of its container. No value: it wrote none.
std::optional<JobEnd> parse_summary(std::string_view words);

/// Follows one job from here: its pods, their events, and the log of the root with the output of all
/// ranks.
class JobFollower {
public:
    struct Callbacks {
        std::function<void(OutputRecord const& record)> output;
        /// A line of the root for the user, without newline.
        std::function<void(std::string_view line)> notice;
        /// The table of how all ranks ended, as a line of JSON.
        std::function<void(std::string_view line)> result;
        /// The pods, their number or their troubles have changed, or a second has passed.
        std::function<void()> progress;
    };
    /// Begins to watch; what happens is reported by the client's run_until().
    JobFollower(k8s::Client& client, std::string job, std::string ns, int pods,
                Callbacks callbacks);
    JobFollower(JobFollower const&) = delete;

    PodTable& pods() { return table_; }
    /// Whether the root's container has been running, and its log is being read.
    bool has_root() const { return has_root_; }
    /// Whether a line of the root's log has been read.
    bool has_log() const { return has_log_; }
    /// Whether the end is known and all output has been reported.
    bool over() const;
    /// The end of the job. Requires: over().
    JobEnd const& end() const { return *end_; }
    /// Whether it is known how the job ended; some output may follow.
    bool has_ended() const { return end_.has_value(); }
    /// No more pods are there.
    bool without_pods() const { return synced_ && table_.empty(); }
    /// Whether the job is being deleted or has been.
    bool deleted() const { return deleted_; }

private:
    void on_pod(k8s::WatchEvent const& event);
    void on_job(k8s::WatchEvent const& event);
    void on_event(k8s::WatchEvent const& event);
    void look_at_root();
    void look_at(k8s::PodView const& pod);
    void ask_for_pods();
    void on_line(std::string_view line);
    void tick();

    k8s::Client& client_;
    std::string const job_, ns_;
    Callbacks const callbacks_;
    PodTable table_;
    RootLog log_;
    bool has_root_ = false, has_log_ = false, synced_ = false, deleted_ = false;
    std::optional<JobEnd> end_;
    std::chrono::steady_clock::time_point end_since_;  ///< when `end_` became known
    bool asks_ = false;                                ///< for the pods, as the Job has ended
    bool events_denied_ = false;
    k8s::Watch pod_watch_, job_watch_, warnings_, pulls_;
    k8s::Registration ticking_, question_;
};

}  // namespace sinew::launch::kubernetes
