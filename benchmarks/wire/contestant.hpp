// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace sinew::bench {

/// A messenger, connected to a separate process that echoes everything.
class Contestant {
public:
    virtual ~Contestant() = default;
    /// Returns "sinew unix" or "libzmq tcp, CURVE".
    virtual std::string name() const = 0;
    virtual bool encrypted() const = 0;
    /// Returns the seconds for `times` round trips of `bytes`, one after the other.
    virtual double round_trips(std::size_t bytes, long times) = 0;
    /// Returns the seconds for `times` round trips of `bytes`, with `in_flight` at any time.
    virtual double pipelined(std::size_t bytes, long in_flight, long times) = 0;
};

enum class Way : std::uint8_t { unix_socket, tcp };

std::unique_ptr<Contestant> make_ours(Way way);

/// `curve`: encrypted and authenticated. Returns null if libzmq is not built in or lacks CURVE.
std::unique_ptr<Contestant> make_zmq(Way way, bool curve);
/// Returns "4.3.4", or why libzmq is not available.
std::string zmq_about();

}  // namespace sinew::bench
