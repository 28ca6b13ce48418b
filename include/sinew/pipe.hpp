// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <sinew/detail/pipe_end.hpp>
#include <sinew/task/encoding.hpp>

namespace sinew {

/// One end of a pipe between two threads or processes, anywhere in the family.
///
/// An end is in one place at a time. Copies within a process mean the same end. One that travels (as
/// an argument, through a queue, in a class) is given up here at the moment it is encoded: its use
/// throws UsageError from then on, and what was sent to it meanwhile is received at its new place. It
/// can be decoded once. Until then it is kept by the process it comes from.
///
/// The calling thread talks to the other end itself: on one host through a socket that both share;
/// between hosts, through the processes that have and had it. Messages arrive whole, in order, of any
/// size. send() waits while the other end has not read what is under way (200 KiB or so): two ends
/// that send each other large messages at the same time, and only then receive, wait for ever.
template <class T>
class PipeEnd {
public:
    explicit PipeEnd(std::shared_ptr<detail::PipeSocket> socket) : socket_(std::move(socket)) {}

    /// Throws PipeClosed when the other end is gone.
    void send(T const& value) {
        Writer writer;
        encode(writer, value);
        socket_->send(writer.bytes());
    }
    /// Throws PipeClosed when the other end is gone and all it had sent has been received.
    T recv() { return decoded(*socket_->receive(never)); }
    /// Nothing: no whole message came in time.
    std::optional<T> recv_for(std::chrono::nanoseconds timeout) {
        auto const message = socket_->receive(detail::deadline_after(timeout));
        if (!message) return std::nullopt;
        return decoded(*message);
    }
    /// Whether recv() would find something: a message, or the end of the pipe.
    bool poll(std::chrono::nanoseconds timeout = {}) {
        return socket_->poll(detail::deadline_after(timeout));
    }
    void send_bytes(std::span<std::byte const> bytes) { socket_->send(bytes); }
    std::vector<std::byte> recv_bytes() { return *socket_->receive(never); }
    /// The other end receives what was sent, and then PipeClosed. So it does when the last copy goes.
    void close() { socket_->close(); }
    /// Readable when poll() is true; for poll(2) and event loops. Belongs to the pipe.
    int fileno() const { return socket_->fileno(); }

    void encode_to(Writer& writer) const { socket_->encode_to(writer); }
    static PipeEnd decode_from(Reader& reader) {
        return PipeEnd(detail::fetch_pipe_socket(reader));
    }

private:
    static constexpr auto never = detail::Deadline::max();
    static T decoded(std::vector<std::byte> const& message) {
        Reader reader(message);
        return decode<T>(reader);
    }
    std::shared_ptr<detail::PipeSocket> socket_;
};

/// Both ends send and receive.
template <class T>
std::pair<PipeEnd<T>, PipeEnd<T>> pipe() {
    auto [left, right] = detail::make_pipe_sockets(true);
    return {PipeEnd<T>(std::move(left)), PipeEnd<T>(std::move(right))};
}

/// The first receives what the second sends.
template <class T>
std::pair<PipeEnd<T>, PipeEnd<T>> one_way_pipe() {
    auto [reader, writer] = detail::make_pipe_sockets(false);
    return {PipeEnd<T>(std::move(reader)), PipeEnd<T>(std::move(writer))};
}

}  // namespace sinew
