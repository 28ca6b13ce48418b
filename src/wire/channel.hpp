// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>

#include "src/wire/frame.hpp"
#include "src/wire/loop/loop_access.hpp"
#include "src/wire/socket/send_queue.hpp"
#include "src/wire/socket/stream.hpp"

namespace sinew::wire {

/// Whom a channel tells. May close the channel, or be replaced, within any of these calls.
class ChannelUser {
public:
    /// Keeps the user while frames are delivered to it: once for all that have arrived.
    virtual std::shared_ptr<void> keep() = 0;
    enum class Stop : std::uint8_t {
        end,        ///< the other end has closed
        lost,       ///< the connection is gone
        denied,     ///< TLS: no common secret, or changed bytes
        violation,  ///< the bytes are no frames
    };
    virtual void frame(Frame const& frame) = 0;
    /// Once; the channel is closed then.
    virtual void stopped(Stop why, std::string const& text) = 0;
    /// Something has been sent.
    virtual void sent() {}

protected:
    ~ChannelUser() = default;
};

/// Frames over a stream, driven by a loop; whoever they come from. Never calls its user within a
/// call of the user's.
class Channel final : public TurnEnd, public std::enable_shared_from_this<Channel> {
public:
    Channel(Loop& loop, std::unique_ptr<Stream> stream, std::size_t max_frame);

    /// Null: nobody; then nothing must arrive.
    void use(ChannelUser* user) { user_ = user; }
    void start();
    /// Reads and delivers nothing until `resume`.
    void pause();
    void resume();
    void limit(std::size_t max_frame) { reader_.limit(max_frame); }
    /// Sent at the end of the loop's turn.
    void send(FrameHeader header, std::initializer_list<std::span<std::byte const>> parts);
    /// The halves of `send`: only queues; sends what is queued at the end of the turn.
    void append(FrameHeader header, std::initializer_list<std::span<std::byte const>> parts);
    void defer_writing();
    /// Sends a long frame at once, without copying what the kernel takes of it.
    void write_through(FrameHeader header, std::initializer_list<std::span<std::byte const>> parts);
    /// Sends at once what can be sent; the user is told nothing of it.
    void flush();
    /// `turn_ended` will come, and tell the user what has been sent.
    void defer();
    /// No more will be sent: the other end sees the end of the stream.
    void shut_down_writing();
    void close();
    bool closed() const { return closed_; }

    std::size_t queued() const { return queue_.size() + stream_->unsent(); }
    int fd() const { return stream_->fd(); }
    /// Bytes wait in the kernel to be read.
    bool input_waiting() const;
    /// Whether anything was read, or sent, since the last question.
    bool heard() { return std::exchange(heard_, false); }
    bool spoke() { return std::exchange(spoke_, false); }

    void turn_ended() override;

private:
    void read_some();
    std::span<std::byte> room();
    bool deliver();
    void write_some();
    void push();
    void stop(ChannelUser::Stop why, std::string text);
    bool stop_by(Moved const& moved);

    Loop& loop_;
    std::unique_ptr<Stream> stream_;
    FrameReader reader_;
    SendQueue queue_;
    ChannelUser* user_ = nullptr;
    Loop::Handle readable_, writable_;
    bool closed_ = false, paused_ = false, deferred_ = false, resumed_ = false;
    bool write_failed_ = false, heard_ = false, spoke_ = false;
};

}  // namespace sinew::wire
