// SPDX-License-Identifier: Apache-2.0
#include "launchers/service/server/server.hpp"

#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <sinew/error.hpp>
#include <utility>

#include "src/base/log.hpp"
#include "src/base/system/io.hpp"
#include "src/base/text.hpp"
#include "src/wire/hello.hpp"

namespace sinew::launch::service {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t most_sessions = 1024;
// Of connections that do not authenticate; more wait in the kernel's queue.
constexpr std::size_t most_unauthenticated = 256;
constexpr std::size_t most_refused_addresses = 64;
constexpr auto between_refusal_entries = 1s;
constexpr auto between_removals = std::chrono::hours(1);

// A part of the descriptors, so that others are left for jobs and clients.
std::size_t unauthenticated_limit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return most_unauthenticated;
    return std::clamp<std::size_t>(limit.rlim_cur / 4, 1, most_unauthenticated);
}

std::string make_folder(std::string path) {
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
        throw_errno(text(path, " cannot be created"));
    return path;
}

}  // namespace

Server::Server(wire::Loop& loop, ServerOptions options)
    : loop_(loop), options_(std::move(options)), folder_(options_.state_folder),
      jobs_folder_(make_folder(text(folder_.path().string(), "/jobs"))),
      store_(text(folder_.path().string(), "/jobs.sqlite")),
      queue_(loop, store_,
             {.folder = jobs_folder_,
              .all = options_.all,
              .backfill = options_.backfill,
              .most_active = options_.most_active,
              .client_patience = options_.client_patience},
             [this](std::int64_t id) { changed(id); }),
      listener_(loop, options_.address,
                {.secret = options_.key, .self = {.name = "sinew serve on " + options_.name}},
                {.link = link_options(),
                 .max_unauthenticated = unauthenticated_limit(),
                 .refused = [this](std::string const& peer,
                                   std::string const& why) { note_refusal(peer, why); }},
                [this](std::unique_ptr<wire::Link> link) { accept(std::move(link)); }) {
    if (options_.dashboard) dashboard_.emplace(loop_, *options_.dashboard, queue_, store_);
    queue_.recover();
    remove_old();
    auto const at = listener_.address().text().substr(std::string_view("tcp:").size());
    if (dashboard_) dashboard_->begin(options_.name, at);
    removal_timer_ = loop_.every(between_removals, [this] { remove_old(); });
    if (!options_.registry) return;
    auto announced = options_.announced;
    if (announced.address.empty()) announced.address = at;
    announcer_.emplace(loop_, *options_.registry, options_.key, std::move(announced),
                       [this](std::string const& problem) {
                           if (dashboard_) dashboard_->registry_changed(problem);
                       });
}

Server::~Server() {
    // Jobs whose clients are connected at present go on: they come back to the next server.
    sessions_.clear();
    write_refusals();
    if (dashboard_) dashboard_->finish();
}

std::optional<std::string> Server::dashboard_address() const {
    if (!dashboard_) return std::nullopt;
    return dashboard_->address();
}

void Server::changed(std::int64_t id) {
    if (dashboard_) dashboard_->job_changed(id);
    for (auto& [number, session] : sessions_) session->job_changed(id);
}

void Server::accept(std::unique_ptr<wire::Link> link) {
    if (sessions_.size() >= most_sessions) {
        log_warning(text(wire::printable(link->peer().name), " was refused: ", most_sessions,
                         " clients are connected"));
        return;  // the link is closed
    }
    auto const number = next_session_++;
    sessions_.emplace(number, std::make_unique<Session>(
                                  Session::Server{.loop = loop_,
                                                  .queue = queue_,
                                                  .store = store_,
                                                  .jobs_folder = jobs_folder_,
                                                  .status = [this] { return status(); }},
                                  std::move(link), [this, number] { sessions_.erase(number); }));
}

ServerStatus Server::status() const {
    ServerStatus now{.name = options_.name, .all = options_.all, .available = queue_.available()};
    for (auto const& [id, job] : queue_.jobs())
        ++(job->stored.state == JobState::waiting ? now.waiting : now.active);
    return now;
}

// Many refusals become one entry: those who are refused must not be able to fill the disk.
void Server::note_refusal(std::string const& peer, std::string const& why) {
    bool const is_new = refusals_.count(peer) == 0;
    auto const key = is_new && refusals_.size() >= most_refused_addresses ? "others" : peer;
    auto& refusals = refusals_[key];
    ++refusals.count;
    refusals.last = why;
    if (!refusals_timer_)
        refusals_timer_ = loop_.after(between_refusal_entries, [this] {
            refusals_timer_ = {};
            write_refusals();
        });
}

void Server::write_refusals() {
    for (auto const& [peer, refusals] : std::exchange(refusals_, {})) {
        if (dashboard_) dashboard_->refused(peer, refusals.count, refusals.last);
        try {
            store_.audit(
                {.name = "", .address = peer}, "refuse",
                text(refusals.count, refusals.count == 1 ? " connection: " : " connections: ",
                     wire::printable(refusals.last)));
        } catch (Unavailable const& problem) {
            log_warning(problem.what());
        }
    }
}

void Server::remove_old() {
    try {
        queue_.remove_old(std::chrono::system_clock::now() - options_.retention);
    } catch (Unavailable const& problem) {
        log_warning(problem.what());
    }
}

}  // namespace sinew::launch::service
