// SPDX-License-Identifier: Apache-2.0
#include "src/wire/channel.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <new>
#include <utility>
#include <vector>

namespace sinew::wire {

Channel::Channel(Loop& loop, std::unique_ptr<Stream> stream, std::size_t max_frame)
    : loop_(loop), stream_(std::move(stream)), reader_(max_frame) {}

void Channel::start() {
    readable_ = loop_.readable(stream_->fd(), [this] { read_some(); });
}

void Channel::pause() {
    paused_ = true;
    readable_ = {};
}

void Channel::resume() {
    if (!paused_ || closed_) return;
    paused_ = false;
    resumed_ = true;
    readable_ = loop_.readable(stream_->fd(), [this] { read_some(); });
    defer();
}

void Channel::defer() {
    if (std::exchange(deferred_, true)) return;
    LoopAccess::at_turn_end(loop_, shared_from_this());
}

void Channel::turn_ended() {
    deferred_ = false;
    if (closed_) return;
    if (!paused_ && std::exchange(resumed_, false)) {
        // Delivers bytes that were read together with the last frame before the pause: the kernel
        // does not report them as readable.
        if (!deliver()) return;
        if (stream_->buffered()) read_some();
        if (closed_) return;
    }
    write_some();
}

void Channel::send(FrameHeader header, std::initializer_list<std::span<std::byte const>> parts) {
    append(header, parts);
    defer_writing();
}

void Channel::append(FrameHeader header, std::initializer_list<std::span<std::byte const>> parts) {
    if (closed_ || write_failed_) return;
    queue_.append(encode(header));
    for (auto const part : parts) queue_.append(part);
}

void Channel::write_through(FrameHeader header,
                            std::initializer_list<std::span<std::byte const>> parts) {
    if (closed_ || write_failed_) return;
    if (queued() > 0 || writable_) return append(header, parts);
    auto const head = encode(header);
    std::vector<iovec> blocks{{const_cast<std::byte*>(head.data()), head.size()}};
    for (auto const part : parts)
        blocks.push_back({const_cast<std::byte*>(part.data()), part.size()});
    std::size_t moved = stream_->write(blocks).bytes;  // a retry returns the error
    if (moved > 0) spoke_ = true;
    for (auto const& block : blocks) {
        auto const gone = std::min(moved, block.iov_len);
        moved -= gone;
        queue_.append({static_cast<std::byte const*>(block.iov_base) + gone, block.iov_len - gone});
    }
    flush();
}

// If the kernel has no room, its writable event continues the writing instead.
void Channel::defer_writing() {
    if (!closed_ && !write_failed_ && !writable_) defer();
}

void Channel::flush() {
    if (!closed_ && !write_failed_ && !writable_) push();
}

void Channel::shut_down_writing() { ::shutdown(stream_->fd(), SHUT_WR); }

void Channel::close() {
    if (std::exchange(closed_, true)) return;
    user_ = nullptr;
    readable_ = {};
    writable_ = {};
    queue_.clear();
    // The stream closes the descriptor later, as it may be in use further up the stack. No
    // shutdown: in a forked child it would end the parent's connection.
}

bool Channel::input_waiting() const {
    pollfd waiting{stream_->fd(), POLLIN, 0};
    return ::poll(&waiting, 1, 0) > 0;
}

void Channel::stop(ChannelUser::Stop why, std::string text) {
    ChannelUser* const user = user_;
    close();
    if (user != nullptr) user->stopped(why, text);
}

// Returns whether the outcome of a read ends the channel, and notifies the user if so.
bool Channel::stop_by(Moved const& moved) {
    switch (moved.status) {
        case Moved::Status::ok:
        case Moved::Status::again:
        case Moved::Status::later:
            return false;
        case Moved::Status::end:
            stop(ChannelUser::Stop::end, "end of file");
            return true;
        case Moved::Status::failed:
            stop(ChannelUser::Stop::lost, stream_->problem());
            return true;
        case Moved::Status::denied:
            stop(ChannelUser::Stop::denied, stream_->problem());
            return true;
    }
    return false;
}

void Channel::read_some() {
    auto const self = shared_from_this();  // the user may destroy this channel
    do {
        auto const room = this->room();
        if (room.empty()) return stop(ChannelUser::Stop::violation, "a frame too large for memory");
        Moved const moved = stream_->read(room);
        if (moved.bytes > 0) {
            heard_ = true;
            reader_.filled(moved.bytes);
            if (!deliver()) return;
        }
        if (stop_by(moved)) return;
        if (moved.bytes == 0) break;
    } while (stream_->buffered());
    // A handshake may have reached the point where queued frames can be sent.
    if (!writable_ && (!queue_.empty() || stream_->unsent() > 0)) defer();
}

std::span<std::byte> Channel::room() {
    try {
        return reader_.room();
    } catch (std::bad_alloc const&) {
        return {};
    }
}

// Delivers the complete frames. Returns false if nothing more may be read (closed or paused).
bool Channel::deliver() {
    // The first frame may replace the user, and the next one may destroy that.
    std::shared_ptr<void> kept;
    ChannelUser const* whom = nullptr;
    while (auto const frame = reader_.next()) {
        if (user_ != whom) {
            kept = user_ == nullptr ? nullptr : user_->keep();
            whom = user_;
        }
        try {
            if (user_ != nullptr) user_->frame(*frame);
        } catch (...) {
            // The exception ends the loop's run; the next run delivers the remaining frames.
            resumed_ = true;
            if (!closed_) defer();
            throw;
        }
        if (closed_ || paused_) return false;
    }
    if (reader_.problem().empty()) return true;
    stop(ChannelUser::Stop::violation, reader_.problem());
    return false;
}

void Channel::write_some() {
    auto const self = shared_from_this();
    push();
    if (!write_failed_ && user_ != nullptr) user_->sent();
}

// Writes as much as the kernel takes, and waits for a writable event with the rest.
void Channel::push() {
    bool moved_any = false;
    for (;;) {
        std::array<iovec, 64> blocks;
        std::size_t const count = queue_.gather(blocks);
        if (count == 0 && stream_->unsent() == 0 && moved_any) break;
        Moved const moved = stream_->write({blocks.data(), count});
        queue_.consume(moved.bytes);
        moved_any = true;
        if (moved.bytes > 0) spoke_ = true;
        if (moved.status == Moved::Status::ok) continue;
        if (moved.status == Moved::Status::again) {
            if (!writable_) writable_ = loop_.writable(stream_->fd(), [this] { write_some(); });
        } else if (moved.status != Moved::Status::later) {
            // Reading continues: the other end may have sent something before its end.
            write_failed_ = true;
            queue_.clear();
            writable_ = {};
        }
        return;
    }
    writable_ = {};
}

}  // namespace sinew::wire
