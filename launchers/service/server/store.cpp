// SPDX-License-Identifier: Apache-2.0
#include "launchers/service/server/store.hpp"

#include <array>
#include <sinew/error.hpp>
#include <utility>

#include "launchers/common/timestamp.hpp"
#include "src/base/text.hpp"

namespace sinew::launch::service {
namespace {

// A number is never used again (AUTOINCREMENT), even if its job was removed.
constexpr char schema[] = R"(
CREATE TABLE IF NOT EXISTS job (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    token TEXT NOT NULL UNIQUE,
    request TEXT NOT NULL,
    owner TEXT NOT NULL,
    state TEXT NOT NULL,
    submitted INTEGER NOT NULL,
    started INTEGER,
    ended INTEGER,
    exit_code INTEGER,
    cause TEXT NOT NULL DEFAULT '',
    gpus TEXT NOT NULL DEFAULT '',
    cancelled_by TEXT NOT NULL DEFAULT '');
CREATE INDEX IF NOT EXISTS job_state ON job (state);
CREATE TABLE IF NOT EXISTS audit (
    time INTEGER NOT NULL,
    name TEXT NOT NULL,
    address TEXT NOT NULL,
    action TEXT NOT NULL,
    detail TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS audit_time ON audit (time);
)";
constexpr char is_unfinished[] = "state IN ('waiting', 'starting', 'running')";
constexpr std::array<std::string_view, 7> state_names{
    "waiting", "starting", "running", "completed", "failed", "cancelled", "timeout"};

StoredJob::Time time_of(std::int64_t milliseconds) {
    return StoredJob::Time(std::chrono::milliseconds(milliseconds));
}

std::optional<StoredJob::Time> time_of(std::optional<std::int64_t> const& milliseconds) {
    if (!milliseconds) return std::nullopt;
    return time_of(*milliseconds);
}

JobState parse_state(std::string const& word) {
    for (std::size_t i = 0; i < state_names.size(); ++i)
        if (state_names[i] == word) return static_cast<JobState>(i);
    throw Unavailable(text("the database of jobs has the state ", word,
                           ", which is not known. Was it written by a newer sinew?"));
}

Actor const server_itself{.name = "sinew serve", .address = {}};

}  // namespace

std::string_view to_text(JobState state) { return state_names[static_cast<std::size_t>(state)]; }
bool is_final(JobState state) { return state >= JobState::completed; }

std::string to_text(Actor const& actor) {
    return actor.address.empty() ? actor.name : text(actor.name, " (", actor.address, ")");
}

Store::Store(std::string const& path) : database_(path) { database_.execute(schema); }

std::optional<std::int64_t> Store::find_token(std::string const& token) {
    Statement found(database_, "SELECT id FROM job WHERE token = ?");
    found.bind(token);
    if (!found.next()) return std::nullopt;
    return found.number(0);
}

std::int64_t Store::add(JobRequest const& request, Actor const& owner, StoredJob::Time now) {
    Transaction all(database_);
    Statement(database_,
              "INSERT INTO job (token, request, owner, state, submitted) VALUES (?, ?, ?, ?, ?)")
        .bind(request.token)
        .bind(to_json(request))
        .bind(to_text(owner))
        .bind(to_text(JobState::waiting))
        .bind(milliseconds_of(now))
        .run();
    auto const id = database_.last_row();
    log(now, owner, "submit", text("job ", id, " ", request.name, ": ", request.command));
    all.commit();
    return id;
}

void Store::set_waiting(std::int64_t id) {
    Statement(database_, text("UPDATE job SET state = 'waiting' WHERE id = ? AND ", is_unfinished))
        .bind(id)
        .run();
}

void Store::set_starting(std::int64_t id) {
    Statement(database_, text("UPDATE job SET state = 'starting' WHERE id = ? AND ", is_unfinished))
        .bind(id)
        .run();
}

void Store::set_running(std::int64_t id, StoredJob::Time started, std::string const& gpus) {
    Transaction all(database_);
    Statement(database_, text("UPDATE job SET state = 'running', started = ?, gpus = ? "
                              "WHERE id = ? AND ",
                              is_unfinished))
        .bind(milliseconds_of(started))
        .bind(gpus)
        .bind(id)
        .run();
    log(started, server_itself, "start", text("job ", id, gpus.empty() ? "" : " on GPU ", gpus));
    all.commit();
}

void Store::set_cancelled(std::int64_t id, Actor const& by, std::string const& why) {
    Transaction all(database_);
    Statement(database_, text("UPDATE job SET cancelled_by = ? WHERE id = ? AND ", is_unfinished,
                              " AND cancelled_by = ''"))
        .bind(to_text(by))
        .bind(id)
        .run();
    log(std::chrono::system_clock::now(), by, "cancel", text("job ", id, ": ", why));
    all.commit();
}

bool Store::finish(std::int64_t id, JobState state, std::optional<int> exit_code,
                   std::string const& cause, StoredJob::Time ended) {
    Transaction all(database_);
    Statement(database_, text("UPDATE job SET state = ?, exit_code = ?, cause = ?, ended = ? "
                              "WHERE id = ? AND ",
                              is_unfinished))
        .bind(to_text(state))
        .bind(exit_code ? std::optional<std::int64_t>(*exit_code) : std::nullopt)
        .bind(cause)
        .bind(milliseconds_of(ended))
        .bind(id)
        .run();
    bool const first = database_.changes() == 1;
    if (first)
        log(ended, server_itself, "end",
            text("job ", id, " ", to_text(state), exit_code ? text(", exit code ", *exit_code) : "",
                 cause.empty() ? "" : ": ", cause));
    all.commit();
    return first;
}

void Store::audit(Actor const& actor, std::string_view action, std::string_view detail) {
    log(std::chrono::system_clock::now(), actor, action, detail);
}

void Store::log(StoredJob::Time when, Actor const& actor, std::string_view action,
                std::string_view detail) {
    Statement(database_, "INSERT INTO audit VALUES (?, ?, ?, ?, ?)")
        .bind(milliseconds_of(when))
        .bind(actor.name)
        .bind(actor.address)
        .bind(action)
        .bind(detail)
        .run();
}

std::vector<StoredJob> Store::select(std::string const& condition, std::int64_t value) {
    Statement rows(database_, text("SELECT id, request, owner, state, submitted, started, ended, "
                                   "exit_code, cause, gpus, cancelled_by FROM job WHERE ",
                                   condition));
    rows.bind(value);
    std::vector<StoredJob> found;
    while (rows.next()) {
        StoredJob job;
        job.id = rows.number(0);
        job.request = parse_job_request(rows.text(1));
        job.owner = rows.text(2);
        job.state = parse_state(rows.text(3));
        job.submitted = time_of(rows.number(4));
        job.started = time_of(rows.optional_number(5));
        job.ended = time_of(rows.optional_number(6));
        if (auto const code = rows.optional_number(7)) job.exit_code = static_cast<int>(*code);
        job.cause = rows.text(8);
        job.gpus = rows.text(9);
        job.cancelled_by = rows.text(10);
        found.push_back(std::move(job));
    }
    return found;
}

std::optional<StoredJob> Store::find(std::int64_t id) {
    auto found = select("id = ?", id);
    if (found.empty()) return std::nullopt;
    return std::move(found.front());
}

std::vector<StoredJob> Store::unfinished() {
    return select(text(is_unfinished, " AND id > ? ORDER BY id"), 0);
}

std::vector<StoredJob> Store::finished(int count) {
    return select(text("id IN (SELECT id FROM job WHERE NOT ", is_unfinished,
                       " ORDER BY id DESC LIMIT ?) ORDER BY id"),
                  count);
}

void Store::remove_before(StoredJob::Time time) {
    Transaction all(database_);
    Statement(database_, "DELETE FROM job WHERE ended < ?").bind(milliseconds_of(time)).run();
    Statement(database_, "DELETE FROM audit WHERE time < ?").bind(milliseconds_of(time)).run();
    all.commit();
}

}  // namespace sinew::launch::service
