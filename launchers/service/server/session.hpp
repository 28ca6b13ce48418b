// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "launchers/service/protocol.hpp"
#include "launchers/service/server/job_queue.hpp"
#include "launchers/service/server/output_follower.hpp"
#include "src/wire/link.hpp"

namespace sinew::launch::service {

/// The connection of one client of `sinew serve`: answers its requests, and sends it the output of
/// the job that it follows.
class Session {
public:
    struct Server {
        wire::Loop& loop;
        JobQueue& queue;
        Store& store;
        std::string jobs_folder;
        std::function<ServerStatus()> status;
    };

    /// `ended` is called once; the session may be destroyed within the call.
    Session(Server server, std::unique_ptr<wire::Link> link, std::function<void()> ended);
    Session(Session const&) = delete;

    /// The job has changed its state, or has ended.
    void job_changed(std::int64_t id);
    Actor const& actor() const { return actor_; }

private:
    struct Following {
        std::int64_t id;
        bool until_end;
        OutputFollower out, err;
        std::string told = {};  ///< the last state that was sent
    };
    void on_message(wire::Message const& message);
    void on_end(wire::LinkEnd const& end);
    void answer(ClientRequest const& request);
    void submit(JobRequest const& request);
    void list();
    void follow(ClientRequest const& request);
    void own(std::int64_t id);
    void disown();
    void pump();
    void pump_later();
    void send_end(std::int64_t id);
    void send(ServerAnswer const& answer);

    Server const server_;
    std::unique_ptr<wire::Link> link_;
    std::function<void()> ended_;
    Actor const actor_;
    std::optional<Following> following_;
    std::optional<std::int64_t> owned_;  ///< the job that is cancelled without this client
    bool left_ = false;                  ///< it has said goodbye
    wire::Loop::Handle pumping_, closing_;
};

}  // namespace sinew::launch::service
