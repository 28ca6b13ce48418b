// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <sinew/detail/deadline.hpp>
#include <sinew/error.hpp>
#include <sinew/task/codec.hpp>

namespace sinew {

/// The other end of the pipe is closed or its process has ended, and all it had sent has been
/// received.
class PipeClosed : public Error {
public:
    using Error::Error;
};

namespace detail {

/// One end of a pipe for messages of bytes. Thread-safe for one sender and one receiver at a time.
class PipeSocket {
public:
    enum class Direction : std::uint8_t { both, in, out };

    struct State;
    explicit PipeSocket(std::unique_ptr<State> state);
    PipeSocket(PipeSocket const&) = delete;
    ~PipeSocket();

    void send(std::span<std::byte const> message);
    /// Returns nothing if no message arrived by the deadline.
    std::optional<std::vector<std::byte>> receive(Deadline deadline);
    bool poll(Deadline deadline);
    int fileno() const;
    void close();
    /// Gives this end up to the process that decodes the bytes.
    void encode_to(Writer& writer);

private:
    std::unique_ptr<State> state_;
};

std::pair<std::shared_ptr<PipeSocket>, std::shared_ptr<PipeSocket>> make_pipe_sockets(bool duplex);
/// Takes the end over from the process that sent it.
std::shared_ptr<PipeSocket> fetch_pipe_socket(Reader& reader);

}  // namespace detail
}  // namespace sinew
