// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sinew::launch::dashboard {

using Time = std::chrono::system_clock::time_point;

/// What the page shows at its top.
struct Job {
    bool is_server = false;  ///< a `sinew serve`: its name, address and time; it has no ranks
    std::string name = {}, id = {}, backend = {}, command = {};
    std::string state = {};  ///< starting, running, restarting, finishing or ended
    std::string host = {};   ///< where the process that serves the page runs
    Time started{};
    int restarts = 0;
    std::optional<int> exit_code = {};  ///< once it has ended
    std::string cause = {};             ///< why it ends or has ended; empty: nothing failed
};

enum class RankState : std::uint8_t { starting, running, finished, stopped, failed, lost };

/// The collective that a rank is in, or was in last.
struct Collective {
    std::string operation;     ///< "allreduce(f32 x 1000, sum)"
    std::string communicator;  ///< "world"
    std::uint64_t number = 0;  ///< on that communicator, from 1
    bool inside = false;
};

struct Rank {
    int rank = 0;
    int node = 0;   ///< index of its node
    pid_t pid = 0;  ///< 0: it has not started
    RankState state = RankState::starting;
    std::string detail = {};                    ///< how it ended: "killed by signal 9 (Killed)"
    std::optional<Collective> collective = {};  ///< if its program tells
};

struct Node {
    std::string name = {};
    std::string host = {};  ///< host name there; empty: not known
    bool lost = false;
};

/// A worker of a pool that has ended unexpectedly, and the tasks that it was executing.
struct Loss {
    struct Task {
        std::string function = {};
        std::uint64_t index = 0;
        bool failed = false;  ///< false: it is executed again
    };
    Time time{};
    std::string worker = {};  ///< "pid 4711 on node-b"
    std::string why = {};
    std::vector<Task> tasks = {};
    std::uint64_t more = 0;  ///< tasks that are not listed
};

/// A Pool, as its program counts it.
struct Pool {
    std::uint64_t number = 0;      ///< in its program, from 1
    std::optional<int> rank = {};  ///< of the program; nothing: it is no rank
    std::string node = {};         ///< where the program runs
    pid_t pid = 0;                 ///< of the program
    std::uint64_t submitted = 0, done = 0, failed = 0, dropped = 0, retried = 0;
    std::uint64_t queued = 0, held = 0;
    std::uint64_t deaths = 0, started = 0;
    std::uint32_t workers = 0, ready = 0;
    double busy_seconds = 0;  ///< that workers have spent in tasks
    bool ended = false;
    std::vector<Loss> losses = {};  ///< the last ones
    double rate = 0;                ///< tasks that end per second; State computes it
};

/// A job that waits for resources, runs, or has ended, at a server.
struct QueuedJob {
    std::string id = {}, name = {}, owner = {}, state = {};
    int priority = 0, gpus = 0, processors = 0;
    std::string gpus_held = {};  ///< "0,1"; empty: none, or it waits
    Time submitted{};
    std::optional<Time> started = {}, ended = {};
    std::optional<int> exit_code = {};
    std::string cause = {};  ///< why it has ended; empty: nothing is known
};

/// The jobs of a server.
struct Queue {
    std::vector<QueuedJob> jobs = {};  ///< the first ones of those that have not ended
    std::map<std::string, std::size_t> counts = {};  ///< of all of these, by state
    std::vector<QueuedJob> ended = {};               ///< the last ones, the newest first
};

struct Gpu {
    std::string host = {};
    int index = 0;
    std::string name = {};
    std::string holder = {};                          ///< the job that has it; empty: free
    std::uint64_t memory_used = 0, memory_total = 0;  ///< bytes; 0: not known
    std::optional<double> utilization = {};           ///< 0 to 1
    bool operator==(Gpu const&) const = default;
};

/// What a job has for itself until a time.
struct Lease {
    std::string holder = {}, host = {}, resources = {};
    std::optional<Time> until = {};
    bool operator==(Lease const&) const = default;
};

enum class Level : std::uint8_t { info, warning, error };

struct Event {
    std::uint64_t number = 0;  ///< from 1, without gaps
    Time time{};
    Level level = Level::info;
    std::string text = {};
};

struct LogLine {
    std::uint64_t number = 0;  ///< from 1; a gap: lines that came too fast
    Time time{};
    std::optional<int> rank = {};  ///< nothing: the launcher's own, or a server's job
    int stream = 1;                ///< 1 or 2
    std::string text = {};
    std::string job = {};  ///< of a server; empty: the page is that of one job
};

/// What a dashboard shows. Thread-safe: those whose work is shown replace parts, and the server
/// reads them. A part is immutable once it is here, so that neither waits for the other for longer
/// than it takes to copy a pointer.
class State {
public:
    static constexpr std::size_t most_events = 500, most_lines = 500, most_line = 2048;
    static constexpr std::size_t most_pools = 64;

    template <class T>
    struct Part {
        std::shared_ptr<T const> value = std::make_shared<T const>();
        std::uint64_t version = 0;  ///< of the state, when it was replaced; 0: never
    };
    using Pools = std::map<std::string, Pool>;
    /// The state at one time.
    struct View {
        std::uint64_t version = 0;
        Part<Job> job;
        Part<std::vector<Node>> nodes;
        Part<std::vector<Rank>> ranks;
        Part<Pools> pools;
        Part<Queue> queue;
        Part<std::vector<Gpu>> gpus;
        Part<std::vector<Lease>> leases;
        std::uint64_t first_event = 1, next_event = 1;  ///< those that are kept
        std::uint64_t first_line = 1, next_line = 1;
    };

    void set(Job job);
    void set(std::vector<Node> nodes, std::vector<Rank> ranks);
    void set(Queue queue);
    void set(std::vector<Gpu> gpus);
    void set(std::vector<Lease> leases);
    /// Replaces what is known of this pool. Of more than `most_pools` those that ended first are
    /// forgotten, then others.
    void set(Pool pool, Time now);
    /// All pools of this program have ended.
    void end_pools_of(std::string const& node, pid_t pid);
    void add_event(Level level, std::string text, Time now);
    /// Output of a rank, or the launcher's own lines. Keeps the last `most_lines` lines, each cut to
    /// `most_line` bytes.
    void add_output(std::optional<int> rank, int stream, std::string_view bytes, Time now);
    /// The same of a server's job.
    void add_job_output(std::string const& job, int stream, std::string_view bytes, Time now);

    std::uint64_t version() const;
    View view() const;
    /// Those from this number on that are kept.
    std::vector<Event> events_from(std::uint64_t number) const;
    std::vector<LogLine> lines_from(std::uint64_t number) const;

private:
    template <class T>
    void replace(Part<T>& part, T value);
    void add_lines(std::string_view bytes, LogLine const& like);

    struct Pace {
        std::chrono::steady_clock::time_point at;
        std::uint64_t ended;
    };
    mutable std::mutex mutex_;
    View view_;
    std::deque<Event> events_;
    std::deque<LogLine> lines_;
    std::map<std::string, std::deque<Pace>> paces_;  ///< by pool, of the last seconds
};

/// Of a pool among those of all programs: "node-b/4711/1".
std::string id_of(Pool const& pool);
char const* name_of(RankState state);
char const* name_of(Level level);

}  // namespace sinew::launch::dashboard
