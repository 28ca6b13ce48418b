// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "src/base/system/unique_fd.hpp"
#include "src/transport/socket_transfer.hpp"

namespace sinew::detail {

/// The connection to one rank, with its queue of frames to write and the payload being read. Frames
/// are queued until a socket is attached. Payloads are written from and read into the users'
/// buffers. Requires: the engine's lock held.
class SocketStream {
public:
    /// Receives the frames that arrive.
    class Reader {
    public:
        virtual ~Reader() = default;
        /// Returns the destination of the frame's payload; a Sink without bytes if there is none.
        virtual Sink arrived(SocketStream& stream, Frame const& frame) = 0;
        /// Called when the payload is complete.
        virtual void complete(SocketStream& stream, Sink const& sink) = 0;
    };
    enum class State : std::uint8_t { waiting, open, closed };

    explicit SocketStream(int peer) : peer_(peer) {}

    int peer() const { return peer_; }
    State state() const { return state_; }
    bool said_farewell() const { return farewell_; }
    int fd() const { return fd_.get(); }
    void attach(UniqueFd fd);
    /// Closes the connection and drops the queue. Its transfers are never done: they count as
    /// stranded until they are cancelled.
    void close();

    /// Queues a message if the receiver's window allows it, otherwise its announcement.
    void send(Send& send);
    void post(Frame const& frame);
    /// Handle the receiver's answers to an announcement, and its credits.
    void cleared(std::uint64_t id);
    void dropped(std::uint64_t id);
    void credited(std::size_t bytes);
    void note_farewell() { farewell_ = true; }
    /// Cancels a send; its buffer is not read afterwards.
    void cancel(Send& send);
    /// Removes a cancelled transfer from the stranded ones.
    void forget(Transfer const& transfer) { stranded_.erase(&transfer); }

    /// Announced messages that this rank has asked for, by id.
    std::unordered_map<std::uint64_t, Receive*> incoming;
    /// Bytes of consumed eager messages that are not credited to the sender yet.
    std::size_t consumed = 0;
    /// Returns the destination of the payload being read, which the caller may change.
    Sink& sink() { return sink_; }

    /// Writes as much as the socket takes. Returns false if the connection is broken.
    bool flush();
    /// Returns whether there is more to write.
    bool pending() const { return !out_.empty() || !bulk_.empty(); }
    /// Returns whether a transfer waits for this connection, or is stranded because it closed.
    bool busy() const {
        return pending() || !announced_.empty() || !incoming.empty() || !stranded_.empty();
    }
    /// Reads a bounded amount of what has arrived. Returns false at the end of file, if the
    /// connection is broken or after an invalid frame (see complaint()).
    bool read(Reader& reader);
    std::string const& complaint() const { return complaint_; }

private:
    struct Out {
        Frame frame;
        std::byte const* payload = nullptr;
        std::size_t bytes = 0;
        Send* send = nullptr;  ///< null: not part of a send, or the send was cancelled
        std::unique_ptr<std::byte[]> owned;
        std::size_t length() const { return sizeof(Frame) + bytes; }
    };

    bool refill();
    void written(std::size_t bytes);
    void finish(Out const& out);
    bool parse(Reader& reader);
    bool plausible(Frame const& frame) const;
    std::optional<bool> receive_some(std::size_t& wanted);

    int const peer_;
    State state_ = State::waiting;
    UniqueFd fd_;
    bool farewell_ = false;
    std::string complaint_;

    std::deque<Out> out_;
    std::size_t front_written_ = 0;
    std::deque<Send*> bulk_;  // cleared messages, sent piece by piece in turns
    std::unordered_map<std::uint64_t, Send*> announced_;
    std::unordered_set<Transfer const*> stranded_;  // never done, as the connection is closed
    std::uint64_t ids_ = 0;
    std::size_t outstanding_ = 0;  // eager bytes that the receiver has not consumed

    std::vector<std::byte> buffer_;
    std::size_t begin_ = 0, end_ = 0;
    Sink sink_;
};

}  // namespace sinew::detail
