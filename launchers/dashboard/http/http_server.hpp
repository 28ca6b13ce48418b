// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <list>
#include <string>

#include "launchers/dashboard/http/access.hpp"
#include "launchers/dashboard/http/answer.hpp"
#include "launchers/dashboard/http/request.hpp"
#include "launchers/dashboard/state.hpp"
#include "launchers/dashboard/state_json.hpp"
#include "src/base/system/unique_fd.hpp"
#include "src/wire/loop/loop.hpp"

namespace sinew::launch::dashboard {

/// Serves a dashboard on the loopback interface, to browsers and Prometheus. On the loop's thread.
///
/// Clients have bounded numbers, buffers and times. A reader of the event stream that is slower than
/// the state changes misses what was between, and gets the newest.
class HttpServer {
public:
    using Duration = wire::Clock::duration;
    struct Limits {
        std::size_t connections = 64;
        std::size_t streams = 16;                          ///< of these
        Duration head = std::chrono::seconds(5);           ///< for a request to arrive
        Duration sending = std::chrono::seconds(10);       ///< of an answer, or of one change
        Duration period = std::chrono::milliseconds(200);  ///< between two changes of a stream
    };

    /// `port` 0: one that is free. Throws SystemError naming the port.
    HttpServer(wire::Loop& loop, State const& state, Token const& token, std::uint16_t port,
               Limits limits);
    HttpServer(HttpServer const&) = delete;

    std::uint16_t port() const { return port_; }
    /// Whether there are readers of the event stream, or were a second ago. Thread-safe.
    bool is_watched() const;
    /// Sends all readers of streams the last changes, and that no more will come. Accepts nobody
    /// from now on.
    void finish();
    /// After finish(): everything was sent, or its reader is gone.
    bool idle() const { return clients_.empty(); }

private:
    struct Client {
        enum class Phase : std::uint8_t { reading, sending, streaming, lingering };
        UniqueFd fd;
        Phase phase = Phase::reading;
        RequestReader reader;
        std::string out;
        std::size_t sent = 0;  ///< of `out`
        Cursor cursor;
        bool told_end = false;      ///< no more changes will come
        std::size_t discarded = 0;  ///< bytes, while lingering
        wire::Clock::time_point spoken{};
        wire::Loop::Handle readable, writable, patience;
    };
    using Clients = std::list<Client>;

    void listen();
    void accept();
    bool make_room();
    void on_readable(Clients::iterator at);
    void reply(Clients::iterator at, Answer answer);
    void pump(Clients::iterator at);
    void all_sent(Clients::iterator at);
    void linger(Clients::iterator at);
    void tick();
    void push(Clients::iterator at);
    std::size_t streams() const;
    void note_watched() { watched_ = wire::Clock::now().time_since_epoch().count(); }

    wire::Loop& loop_;
    State const& state_;
    Token const& token_;
    Limits const limits_;
    UniqueFd listener_;
    std::uint16_t port_ = 0;
    static constexpr wire::Clock::rep never = -1;
    std::atomic<wire::Clock::rep> watched_{never};  ///< when there was a reader of the stream
    bool finishing_ = false;
    Clients clients_;
    wire::Loop::Handle accepting_, ticking_;
};

}  // namespace sinew::launch::dashboard
