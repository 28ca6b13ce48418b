// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launchers/service/job_request.hpp"
#include "launchers/service/server/database.hpp"

namespace sinew::launch::service {

/// `waiting`, `starting` and `running` are followed by exactly one of the others.
enum class JobState : std::uint8_t {
    waiting,
    starting,  ///< its supervisor waits for the lease
    running,
    completed,  ///< exit code 0
    failed,     ///< any other, or it could not be run
    cancelled,
    timeout,  ///< ended by its time limit
};
std::string_view to_text(JobState state);
bool is_final(JobState state);

/// A job as the store has it.
struct StoredJob {
    using Time = std::chrono::system_clock::time_point;
    std::int64_t id = 0;
    JobRequest request;
    std::string owner;  ///< of the client that submitted it: "anna@laptop (10.0.0.3)"
    JobState state = JobState::waiting;
    Time submitted{};
    std::optional<Time> started{}, ended{};
    std::optional<int> exit_code{};
    std::string cause, gpus;
    std::string cancelled_by;  ///< empty: nobody has asked for its end
};

/// Who did something, for the audit log.
struct Actor {
    std::string name;     ///< as its client says
    std::string address;  ///< as the kernel says; empty: this machine
};
/// "anna@laptop (10.0.0.3)"
std::string to_text(Actor const& actor);

/// The server's jobs and its audit log, in a file of SQLite. What a method has stored survives the
/// end of the process at any moment. All methods throw Unavailable, and store nothing, if the file
/// cannot be read or written, for example on a full disk.
class Store {
public:
    /// Opens or creates the file.
    explicit Store(std::string const& path);

    /// The job of a client's token, if there is one.
    std::optional<std::int64_t> find_token(std::string const& token);
    /// Returns the number of the new job, which is higher than any before.
    std::int64_t add(JobRequest const& request, Actor const& owner, StoredJob::Time now);
    void set_waiting(std::int64_t id);
    void set_starting(std::int64_t id);
    void set_running(std::int64_t id, StoredJob::Time started, std::string const& gpus);
    void set_cancelled(std::int64_t id, Actor const& by, std::string const& why);
    /// Returns whether the job had not ended before.
    bool finish(std::int64_t id, JobState state, std::optional<int> exit_code,
                std::string const& cause, StoredJob::Time ended);
    void audit(Actor const& actor, std::string_view action, std::string_view detail);

    std::optional<StoredJob> find(std::int64_t id);
    /// Those that have not ended, by number.
    std::vector<StoredJob> unfinished();
    /// The last ones that have ended, by number.
    std::vector<StoredJob> finished(int count);
    /// Removes jobs that ended before, and older entries of the audit log.
    void remove_before(StoredJob::Time time);

private:
    std::vector<StoredJob> select(std::string const& condition, std::int64_t value);
    void log(StoredJob::Time when, Actor const& actor, std::string_view action,
             std::string_view detail);

    Database database_;
};

}  // namespace sinew::launch::service
