// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <sinew/detail/pipe_end.hpp>
#include <sinew/task/encoding.hpp>

namespace sinew {

/// One end of a pipe between two threads or processes of the session. Messages arrive whole and in
/// order, of any size.
///
/// An end is in one place at a time. Copies within a process refer to the same end. An end that is
/// sent to another process (as an argument, through a queue, in a class) is given up here when it
/// is encoded: using it then throws UsageError, and messages that arrive meanwhile are received at
/// its new place. The encoded end can be decoded once; until then the sending process keeps it.
///
/// The calling thread communicates with the other end directly: on one host through a shared
/// socket; between hosts through the processes that hold or have held the ends. send() blocks while
/// about 200 KiB are unread. Two ends that both send large messages before they receive therefore
/// deadlock.
///
/// Thread-safe for one sender and one receiver at a time.
template <class T>
class PipeEnd {
public:
    explicit PipeEnd(std::shared_ptr<detail::PipeSocket> socket) : socket_(std::move(socket)) {}

    /// Sends a value; blocks while too much is unread. Throws PipeClosed if the other end is gone.
    void send(T const& value) {
        Writer writer;
        encode(writer, value);
        socket_->send(writer.bytes());
    }
    /// Blocks until a value arrives. Throws PipeClosed if the other end is gone and all it had sent
    /// has been received.
    T recv() { return decoded(*socket_->receive(never)); }
    /// As recv(), for at most `timeout`; returns nothing if no complete message arrived.
    std::optional<T> recv_for(std::chrono::nanoseconds timeout) {
        auto const message = socket_->receive(detail::deadline_after(timeout));
        if (!message) return std::nullopt;
        return decoded(*message);
    }
    /// Returns whether recv() would return at once, with a message or with PipeClosed; waits up to
    /// `timeout`.
    bool poll(std::chrono::nanoseconds timeout = {}) {
        return socket_->poll(detail::deadline_after(timeout));
    }
    /// As send() and recv(), for bytes instead of a value.
    void send_bytes(std::span<std::byte const> bytes) { socket_->send(bytes); }
    std::vector<std::byte> recv_bytes() { return *socket_->receive(never); }
    /// Closes this end: the other end receives what was sent, and then PipeClosed. The destructor
    /// of the last copy does the same.
    void close() { socket_->close(); }
    /// A file descriptor that is readable when poll() is true, for poll(2) and event loops. It
    /// belongs to the pipe: do not close or read it.
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

/// Makes a pipe whose ends both send and receive. Throws SystemError if there are no more
/// descriptors.
template <class T>
std::pair<PipeEnd<T>, PipeEnd<T>> pipe() {
    auto [left, right] = detail::make_pipe_sockets(true);
    return {PipeEnd<T>(std::move(left)), PipeEnd<T>(std::move(right))};
}

/// Makes a pipe whose first end receives what the second end sends. Throws as pipe().
template <class T>
std::pair<PipeEnd<T>, PipeEnd<T>> one_way_pipe() {
    auto [reader, writer] = detail::make_pipe_sockets(false);
    return {PipeEnd<T>(std::move(reader)), PipeEnd<T>(std::move(writer))};
}

}  // namespace sinew
