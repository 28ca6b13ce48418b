// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "launchers/service/server/announcer.hpp"
#include "launchers/service/server/job_queue.hpp"
#include "launchers/service/server/server_dashboard.hpp"
#include "launchers/service/server/session.hpp"
#include "launchers/service/server/store.hpp"
#include "src/base/state_folder.hpp"
#include "src/wire/link.hpp"

namespace sinew::launch::service {

struct ServerOptions {
    wire::Address address;
    wire::Secret key;
    std::string state_folder;
    std::string name;  ///< for clients
    Resources all;
    Backfill backfill = Backfill::no;
    int most_active = 64;
    std::chrono::milliseconds client_patience{10'000};
    std::chrono::hours retention{24 * 7};
    /// Announces the server to a registry.
    std::optional<wire::Address> registry = {};
    ServiceEntry announced = {};  ///< its address may be empty: that of the listener
    std::optional<dashboard::Settings> dashboard = {};
};

/// `sinew serve`: accepts clients that have the key, and runs their jobs.
class Server {
public:
    /// Throws UsageError if another server uses the state folder, Unavailable for its database, and
    /// SystemError if it, or its dashboard, cannot listen.
    Server(wire::Loop& loop, ServerOptions options);
    Server(Server const&) = delete;
    ~Server();

    wire::Address const& address() const { return listener_.address(); }
    /// Of its dashboard, with the token; no value: it has none.
    std::optional<std::string> dashboard_address() const;

private:
    void changed(std::int64_t id);
    void accept(std::unique_ptr<wire::Link> link);
    ServerStatus status() const;
    void note_refusal(std::string const& peer, std::string const& why);
    void write_refusals();
    void remove_old();

    wire::Loop& loop_;
    ServerOptions const options_;
    StateFolder const folder_;
    std::string const jobs_folder_;
    Store store_;
    JobQueue queue_;
    std::optional<ServerDashboard> dashboard_;
    std::map<std::uint64_t, std::unique_ptr<Session>> sessions_;
    std::uint64_t next_session_ = 0;
    struct Refusals {
        int count = 0;
        std::string last;  ///< why
    };
    std::map<std::string, Refusals> refusals_;  ///< by address, not written yet
    wire::Loop::Handle refusals_timer_, removal_timer_;
    wire::Listener listener_;
    std::optional<Announcer> announcer_;
};

}  // namespace sinew::launch::service
