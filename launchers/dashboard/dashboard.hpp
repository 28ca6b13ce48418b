// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "launchers/dashboard/http/access.hpp"
#include "launchers/dashboard/http/http_server.hpp"
#include "launchers/dashboard/state.hpp"
#include "src/base/waiting/spin_policy.hpp"
#include "src/wire/loop/loop.hpp"

namespace sinew::launch::dashboard {

struct Settings {
    std::uint16_t port = 0;  ///< 0: one that is free
    std::string token_file;  ///< empty: the token is drawn
    HttpServer::Limits limits = {};
};

/// A state and the server that shows it, in a thread of its own: no client makes the caller wait.
class Dashboard {
public:
    /// Throws SystemError if the port is taken or there can be no further thread, and what
    /// Token::from_file throws.
    explicit Dashboard(Settings const& settings);
    Dashboard(Dashboard const&) = delete;
    /// Ends the thread at once.
    ~Dashboard();

    State& state() { return state_; }
    /// Whether somebody follows the changes, or did so a second ago. Thread-safe.
    bool is_watched() const { return server_.is_watched(); }
    /// With the token, which whoever sees this line has.
    std::string address() const;
    /// Sends the last changes to those who look, for at most `patience`, and ends the thread.
    void finish(std::chrono::milliseconds patience = std::chrono::milliseconds(500));

private:
    State state_;
    Token const token_;
    wire::Loop loop_;
    SpinPolicy sleeps_;  ///< never polls
    HttpServer server_;
    wire::Loop::Handle watching_, patience_;
    std::thread thread_;
};

}  // namespace sinew::launch::dashboard
