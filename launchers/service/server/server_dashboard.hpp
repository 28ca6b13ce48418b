// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "launchers/dashboard/dashboard.hpp"
#include "launchers/service/dashboard/gpu_watch.hpp"
#include "launchers/service/dashboard/recent_output.hpp"
#include "launchers/service/server/job_queue.hpp"
#include "launchers/service/server/store.hpp"
#include "src/wire/loop/loop.hpp"

namespace sinew::launch::service {

/// Shows a `sinew serve` on a dashboard: its queue, GPUs, leases, output and what happens. On the
/// server's loop; changes are passed on twice a second.
class ServerDashboard {
public:
    /// Throws as Dashboard does.
    ServerDashboard(wire::Loop& loop, dashboard::Settings const& settings, JobQueue const& queue,
                    Store& store);
    ServerDashboard(ServerDashboard const&) = delete;

    std::string address() const { return dashboard_.address(); }

    /// The server accepts clients at an address. Jobs that are there now are those of an earlier one.
    void begin(std::string const& name, std::string const& address);
    /// A job was submitted, has changed its state or has ended.
    void job_changed(std::int64_t id);
    /// Connections of an address were refused.
    void refused(std::string const& peer, int count, std::string const& why);
    /// Whether the registry knows this server: empty, or why not.
    void registry_changed(std::string const& problem);
    /// The server ends: shows that to those who look, and ends the dashboard.
    void finish();

private:
    /// What was told of a job last.
    struct Told {
        JobState state;
        bool cancelled;
    };
    void event(dashboard::Level level, std::string text);
    void tell_end(std::int64_t id);
    void update();
    void tell_refusals();
    void publish_queue();
    void collect_holders();
    void publish_resources();

    JobQueue const& queue_;
    Store& store_;
    std::string const host_;
    dashboard::Dashboard dashboard_;
    GpuWatch gpu_watch_;
    RecentOutput output_;
    dashboard::Job server_;
    bool begun_ = false;
    bool changed_ = true;  ///< the queue, since it was published
    std::map<std::int64_t, Told> told_;
    std::deque<dashboard::QueuedJob> ended_;  ///< the newest first
    std::map<int, std::string> holders_;      ///< of GPUs: jobs
    std::string others_;                      ///< who has GPUs that are leased otherwise
    std::vector<dashboard::Lease> job_leases_;
    std::optional<std::vector<dashboard::Gpu>> shown_gpus_;
    std::optional<std::vector<dashboard::Lease>> shown_leases_;
    struct Refusals {
        std::size_t count = 0;
        std::string last_peer, last_why;
        wire::Clock::time_point told_at{};
    };
    Refusals refusals_;  ///< not told yet
    wire::Loop::Handle updating_;
};

}  // namespace sinew::launch::service
