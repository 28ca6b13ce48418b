// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace sinew::bench {

/// One messenger, connected to a process of its own that sends everything back.
class Contestant {
public:
    virtual ~Contestant() = default;
    /// "sinew unix", "libzmq tcp curve"
    virtual std::string name() const = 0;
    virtual bool encrypted() const = 0;
    /// Seconds for `times` messages of `bytes`, one after the other, there and back.
    virtual double round_trips(std::size_t bytes, long times) = 0;
    /// Seconds for `times` messages of `bytes`, there and back, `in_flight` at any time.
    virtual double pipelined(std::size_t bytes, long in_flight, long times) = 0;
};

enum class Way : std::uint8_t { unix_socket, tcp };

std::unique_ptr<Contestant> make_ours(Way way);

/// `curve`: encrypted and authenticated. Null when libzmq was not built in, or cannot do that.
std::unique_ptr<Contestant> make_zmq(Way way, bool curve);
/// "4.3.4", or why there is none.
std::string zmq_about();

}  // namespace sinew::bench
