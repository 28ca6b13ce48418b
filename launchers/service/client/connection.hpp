// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "launchers/service/protocol.hpp"
#include "src/wire/link.hpp"

namespace sinew::launch::service {

/// Bytes of a job's output.
struct OutputBytes {
    MessageKind stream = MessageKind::out;
    std::string bytes;
};
using Received = std::variant<ServerAnswer, OutputBytes>;

/// A client's connection to a server or registry. For one thread.
class Connection {
public:
    using Clock = wire::Clock;

    /// Connects within `patience`. Throws Unavailable, which says why that failed.
    Connection(std::string address, wire::Secret const& key, Clock::duration patience);
    Connection(Connection const&) = delete;

    void send(ClientRequest const& request);
    /// Waits for the next message, until the deadline or until `interrupted` returns true, which is
    /// asked after each event of the loop: then there is none. Throws PeerLost at the end of the
    /// connection, and UsageError for an answer that is not valid.
    std::optional<Received> next(Clock::time_point deadline,
                                 std::function<bool()> const& interrupted = {});
    /// The next answer, which must not be an error: throws UsageError or Unavailable with its text.
    ServerAnswer answer(Clock::duration patience = std::chrono::seconds(20));

    wire::Loop& loop() { return loop_; }
    std::string const& address() const { return address_; }
    /// Reads nothing more from the server, or goes on to.
    void hold(bool held);
    /// Says goodbye: the server then cancels a job that this client has submitted and not kept.
    void close();

private:
    void on_message(wire::Message const& message);

    std::string const address_;
    wire::Loop loop_;
    std::unique_ptr<wire::Link> link_;
    std::deque<Received> received_;
    std::string ended_;  ///< why; empty: it has not
    std::string invalid_;
};

/// Who this client is: "anna@laptop".
std::string client_name();

}  // namespace sinew::launch::service
