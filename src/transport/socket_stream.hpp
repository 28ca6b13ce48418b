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

/// The connection to one rank: what is to be written, and what is being read. Frames queue up until
/// it is attached to a socket. Payloads are written from and read into the users' buffers.
class SocketStream {
public:
    /// Who is told what arrives.
    class Reader {
    public:
        virtual ~Reader() = default;
        /// Where the payload of this frame goes; a Sink without bytes when it has none.
        virtual Sink arrived(SocketStream& stream, Frame const& frame) = 0;
        virtual void complete(SocketStream& stream, Sink const& sink) = 0;
    };
    enum class State : std::uint8_t { waiting, open, closed };

    explicit SocketStream(int peer) : peer_(peer) {}

    int peer() const { return peer_; }
    State state() const { return state_; }
    bool said_farewell() const { return farewell_; }
    int fd() const { return fd_.get(); }
    void attach(UniqueFd fd);
    /// Nothing more comes or goes. What was queued is forgotten, and its transfers are never done:
    /// they count as stranded until they are cancelled.
    void close();

    /// A message, whole if the receiver's window allows, else its announcement.
    void send(Send& send);
    void post(Frame const& frame);
    /// The receiver has answered an announcement.
    void cleared(std::uint64_t id);
    void dropped(std::uint64_t id);
    void credited(std::size_t bytes);
    void note_farewell() { farewell_ = true; }
    /// The message lets go of its buffer.
    void cancel(Send& send);
    /// The transfer is given up: nobody waits any more for what can never be done.
    void forget(Transfer const& transfer) { stranded_.erase(&transfer); }

    /// Announced messages that this rank has asked for.
    std::unordered_map<std::uint64_t, Receive*> incoming;
    /// Of eager messages consumed, not told to the sender yet.
    std::size_t consumed = 0;
    /// The payload under way, to be led elsewhere.
    Sink& sink() { return sink_; }

    /// Writes as much as the socket takes. False: the connection is broken.
    bool flush();
    /// Whether there is more to write.
    bool pending() const { return !out_.empty() || !bulk_.empty(); }
    /// Whether somebody waits for an answer, for room, or in vain: for a transfer that began after
    /// the connection had closed, or was under way then.
    bool busy() const {
        return pending() || !announced_.empty() || !incoming.empty() || !stranded_.empty();
    }
    /// Reads what is there, within bounds. False: end of file, broken, or not understood.
    bool read(Reader& reader);
    std::string const& complaint() const { return complaint_; }

private:
    struct Out {
        Frame frame;
        std::byte const* payload = nullptr;
        std::size_t bytes = 0;
        Send* send = nullptr;  ///< null: nobody waits for it
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
    std::deque<Send*> bulk_;  // cleared, to be sent piece by piece, in turns
    std::unordered_map<std::uint64_t, Send*> announced_;
    std::unordered_set<Transfer const*> stranded_;  // never to be done: the connection is closed
    std::uint64_t ids_ = 0;
    std::size_t outstanding_ = 0;  // eager bytes that the receiver has not consumed

    std::vector<std::byte> buffer_;
    std::size_t begin_ = 0, end_ = 0;
    Sink sink_;
};

}  // namespace sinew::detail
