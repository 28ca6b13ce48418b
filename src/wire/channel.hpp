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

/// Receives the events of a channel. May close or replace the channel within any of these calls.
class ChannelUser {
public:
    /// Keeps the user alive while frames are delivered to it; called once for all that have
    /// arrived.
    virtual std::shared_ptr<void> keep() = 0;
    enum class Stop : std::uint8_t {
        end,        ///< the other end has closed
        lost,       ///< the connection is gone
        denied,     ///< TLS: no common secret, or changed bytes
        violation,  ///< the bytes are not frames
    };
    virtual void frame(Frame const& frame) = 0;
    /// Called once; the channel is closed then.
    virtual void stopped(Stop why, std::string const& text) = 0;
    /// Some bytes have been sent.
    virtual void sent() {}

protected:
    ~ChannelUser() = default;
};

/// Frames over a stream, driven by a loop, before and after authentication. Never calls its user
/// within a call of the user.
class Channel final : public TurnEnd, public std::enable_shared_from_this<Channel> {
public:
    Channel(Loop& loop, std::unique_ptr<Stream> stream, std::size_t max_frame);

    /// Null: no user; then nothing may arrive.
    void use(ChannelUser* user) { user_ = user; }
    void start();
    /// Reads and delivers nothing until `resume`.
    void pause();
    void resume();
    void limit(std::size_t max_frame) { reader_.limit(max_frame); }
    /// Queues a frame, which is sent at the end of the loop's turn.
    void send(FrameHeader header, std::initializer_list<std::span<std::byte const>> parts);
    /// The two halves of `send`: queue only; send at the end of the turn what is queued.
    void append(FrameHeader header, std::initializer_list<std::span<std::byte const>> parts);
    void defer_writing();
    /// Sends a long frame at once, without copying what the kernel takes of it.
    void write_through(FrameHeader header, std::initializer_list<std::span<std::byte const>> parts);
    /// Sends at once what the kernel takes; the user is not called.
    void flush();
    /// `turn_ended` will come, and tell the user what was sent.
    void defer();
    /// Ends the sending direction: the other end sees the end of the stream.
    void shut_down_writing();
    void close();
    bool closed() const { return closed_; }

    std::size_t queued() const { return queue_.size() + stream_->unsent(); }
    int fd() const { return stream_->fd(); }
    /// The kernel has bytes to be read.
    bool input_waiting() const;
    /// Whether anything was read, or sent, since the last call.
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
