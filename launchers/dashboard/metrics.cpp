// SPDX-License-Identifier: Apache-2.0
#include "launchers/dashboard/metrics.hpp"

#include <array>
#include <functional>
#include <iomanip>
#include <sstream>

namespace sinew::launch::dashboard {
namespace {

class Text {
public:
    Text() { out_ << std::setprecision(15); }
    void family(char const* name, char const* type, char const* help) {
        name_ = name;
        out_ << "# HELP sinew_" << name << ' ' << help << "\n# TYPE sinew_" << name << ' ' << type
             << '\n';
    }
    void sample(std::string const& labels, double value) {
        out_ << "sinew_" << name_;
        if (!labels.empty()) out_ << '{' << labels << '}';
        out_ << ' ' << value << '\n';
    }
    std::string str() const { return out_.str(); }

private:
    std::ostringstream out_;
    char const* name_ = "";
};

std::string label(std::string_view name, std::string_view value) {
    return std::string(name) + "=\"" + escape_label(value) + '"';
}

void add_job(Text& out, State::View const& view, Time now) {
    auto const& job = *view.job.value;
    out.family("job_info", "gauge", "The job or the server; its value is 1.");
    out.sample(label("name", job.name) + ',' + label("id", job.id) + ',' +
                   label("backend", job.backend) + ',' + label("state", job.state),
               1);
    out.family("job_uptime_seconds", "gauge", "Time since the job or the server began.");
    out.sample("", std::chrono::duration<double>(now - job.started).count());
    out.family("events_total", "counter", "Events of the list on the page.");
    out.sample("", static_cast<double>(view.next_event - 1));
    if (job.is_server) return;
    out.family("job_restarts_total", "counter", "How often the job was started again.");
    out.sample("", job.restarts);
    out.family("ranks", "gauge", "Ranks, by state.");
    std::array<std::size_t, 6> counts{};
    for (auto const& rank : *view.ranks.value) ++counts[static_cast<std::size_t>(rank.state)];
    for (std::size_t i = 0; i < counts.size(); ++i)
        out.sample(label("state", name_of(static_cast<RankState>(i))),
                   static_cast<double>(counts[i]));
    std::size_t lost = 0;
    for (auto const& node : *view.nodes.value) lost += node.lost ? 1 : 0;
    out.family("nodes", "gauge", "Nodes, by whether their agents are linked.");
    out.sample(label("state", "present"), static_cast<double>(view.nodes.value->size() - lost));
    out.sample(label("state", "lost"), static_cast<double>(lost));
}

void add_pools(Text& out, State::Pools const& pools) {
    struct Family {
        char const *name, *type, *help;
        std::function<double(Pool const&)> value;
    };
    auto const count = [](std::uint64_t Pool::*field) {
        return [field](Pool const& pool) { return static_cast<double>(pool.*field); };
    };
    std::array const families{
        Family{"pool_tasks_submitted_total", "counter", "Tasks submitted.",
               count(&Pool::submitted)},
        Family{"pool_tasks_done_total", "counter", "Tasks that have succeeded.",
               count(&Pool::done)},
        Family{"pool_tasks_failed_total", "counter", "Tasks that have failed.",
               count(&Pool::failed)},
        Family{"pool_tasks_dropped_total", "counter", "Tasks that will not be executed.",
               count(&Pool::dropped)},
        Family{"pool_tasks_retried_total", "counter", "Executions after the first.",
               count(&Pool::retried)},
        Family{"pool_tasks_queued", "gauge", "Tasks that no worker has.", count(&Pool::queued)},
        Family{"pool_tasks_held", "gauge", "Tasks that workers have.", count(&Pool::held)},
        Family{"pool_workers", "gauge", "Workers.", [](Pool const& p) { return p.workers; }},
        Family{"pool_workers_ready", "gauge", "Workers that execute tasks.",
               [](Pool const& p) { return p.ready; }},
        Family{"pool_worker_deaths_total", "counter", "Workers that died unexpectedly.",
               count(&Pool::deaths)},
        Family{"pool_busy_seconds_total", "counter", "Time that workers have spent in tasks.",
               [](Pool const& p) { return p.busy_seconds; }},
    };
    if (pools.empty()) return;
    for (auto const& family : families) {
        out.family(family.name, family.type, family.help);
        for (auto const& [id, pool] : pools) out.sample(label("pool", id), family.value(pool));
    }
}

void add_server(Text& out, State::View const& view) {
    if (view.queue.version > 0) {
        out.family("queue_jobs", "gauge", "Jobs of the queue, by state.");
        for (auto const& [state, count] : view.queue.value->counts)
            out.sample(label("state", state), static_cast<double>(count));
    }
    if (view.gpus.version > 0) {
        double held = 0;
        for (auto const& gpu : *view.gpus.value) held += gpu.holder.empty() ? 0 : 1;
        out.family("gpus", "gauge", "GPUs, by whether they are leased.");
        out.sample(label("state", "held"), held);
        out.sample(label("state", "free"), static_cast<double>(view.gpus.value->size()) - held);
    }
    if (view.leases.version > 0) {
        out.family("leases", "gauge", "Leases of resources.");
        out.sample("", static_cast<double>(view.leases.value->size()));
    }
}

}  // namespace

std::string escape_label(std::string_view value) {
    std::string escaped;
    for (char const each : value) {
        if (each == '\\' || each == '"') escaped += '\\';
        if (each == '\n') escaped += "\\n";
        else escaped += each;
    }
    return escaped;
}

std::string metrics_text(State::View const& view, Time now) {
    Text out;
    add_job(out, view, now);
    add_pools(out, *view.pools.value);
    add_server(out, view);
    return out.str();
}

}  // namespace sinew::launch::dashboard
