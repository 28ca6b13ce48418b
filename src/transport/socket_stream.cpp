// SPDX-License-Identifier: Apache-2.0
#include "src/transport/socket_stream.hpp"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "src/base/scope_exit.hpp"
#include "src/base/text.hpp"

namespace sinew::detail {

namespace {

constexpr std::size_t buffer_bytes = std::size_t{64} << 10;
constexpr std::size_t most_parts = 32;
/// Consecutive system calls for one connection, before others get their turn.
constexpr int turns = 4;

std::byte* header_of(Frame& frame) { return reinterpret_cast<std::byte*>(&frame); }

}  // namespace

void SocketStream::attach(UniqueFd fd) {
    fd_ = std::move(fd);
    state_ = State::open;
    buffer_.resize(buffer_bytes);
}

void SocketStream::close() {
    state_ = State::closed;
    for (Out const& out : out_)
        if (out.send != nullptr) stranded_.insert(out.send);
    stranded_.insert(bulk_.begin(), bulk_.end());
    for (auto const& [id, send] : announced_) stranded_.insert(send);
    for (auto const& [id, receive] : incoming) stranded_.insert(receive);
    if (sink_.receive != nullptr) stranded_.insert(sink_.receive);
    fd_ = UniqueFd();
    out_.clear();
    bulk_.clear();
    announced_.clear();
    incoming.clear();
    front_written_ = 0;
    sink_ = {};
    buffer_ = {};
}

void SocketStream::send(Send& send) {
    if (state_ == State::closed) {
        stranded_.insert(&send);
        return;
    }
    std::size_t const bytes = send.frame.bytes;
    Out out;
    out.send = &send;
    if (bytes <= eager_bytes && outstanding_ + window_cost(bytes) <= window_bytes) {
        outstanding_ += window_cost(bytes);
        send.frame.kind = Frame::Kind::message;
        out.payload = send.from;
        out.bytes = bytes;
    } else {
        send.frame.kind = Frame::Kind::announce;
        send.frame.id = ++ids_;
        announced_.emplace(send.frame.id, &send);
    }
    out.frame = send.frame;
    out_.push_back(std::move(out));
}

void SocketStream::post(Frame const& frame) {
    if (state_ == State::closed) return;
    Out out;
    out.frame = frame;
    out_.push_back(std::move(out));
}

void SocketStream::cleared(std::uint64_t id) {
    auto const found = announced_.find(id);
    if (found == announced_.end()) return;  // cancelled meanwhile: a withdraw frame was posted
    bulk_.push_back(found->second);
    announced_.erase(found);
}

void SocketStream::dropped(std::uint64_t id) {
    auto const found = announced_.find(id);
    if (found == announced_.end()) return;
    Send& send = *found->second;
    announced_.erase(found);
    send.done.store(true, std::memory_order_release);
}

void SocketStream::credited(std::size_t bytes) { outstanding_ -= std::min(bytes, outstanding_); }

void SocketStream::cancel(Send& send) {
    forget(send);
    auto const out = std::find_if(out_.begin(), out_.end(),
                                  [&](Out const& other) { return other.send == &send; });
    bool const queued = out != out_.end();
    bool const begun = queued && out == out_.begin() && front_written_ > 0;
    bool known = send.frame.kind == Frame::Kind::announce;  // whether the receiver knows it
    if (begun) {
        // The frame must be completed: send the rest of it from a copy.
        out->send = nullptr;
        if (out->bytes > 0) {
            out->owned = std::make_unique_for_overwrite<std::byte[]>(out->bytes);
            std::memcpy(out->owned.get(), out->payload, out->bytes);
            out->payload = out->owned.get();
        }
    } else if (queued) {
        if (out->frame.kind == Frame::Kind::message) credited(window_cost(out->bytes));
        known = out->frame.kind == Frame::Kind::data;
        out_.erase(out);
    }
    announced_.erase(send.frame.id);
    std::erase(bulk_, &send);
    if (!known) return;
    Frame frame = send.frame;
    frame.kind = Frame::Kind::withdraw;
    post(frame);
}

bool SocketStream::refill() {
    if (bulk_.empty()) return false;
    Send& send = *bulk_.front();
    bulk_.pop_front();
    Out out;
    out.send = &send;
    out.payload = send.from + send.taken;
    out.bytes = std::min<std::size_t>(piece_bytes, send.frame.bytes - send.taken);
    out.frame = send.frame;
    out.frame.kind = Frame::Kind::data;
    out.frame.bytes = out.bytes;
    send.taken += out.bytes;
    out_.push_back(std::move(out));
    return true;
}

bool SocketStream::flush() {
    if (state_ != State::open) return state_ == State::waiting;
    for (int turn = 0; turn < turns && (!out_.empty() || refill()); ++turn) {
        std::array<iovec, most_parts> parts;
        std::size_t count = 0, wanted = 0, skip = front_written_;
        auto const add = [&](std::byte const* from, std::size_t bytes) {
            std::size_t const skipped = std::min(skip, bytes);
            skip -= skipped;
            if (bytes == skipped) return;
            parts[count++] = {const_cast<std::byte*>(from + skipped), bytes - skipped};
            wanted += bytes - skipped;
        };
        for (Out& out : out_) {
            if (count + 2 > most_parts) break;
            add(header_of(out.frame), sizeof(Frame));
            add(out.payload, out.bytes);
        }
        msghdr message{};
        message.msg_iov = parts.data();
        message.msg_iovlen = count;
        ssize_t const sent = ::sendmsg(fd_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
        written(static_cast<std::size_t>(sent));
        if (static_cast<std::size_t>(sent) < wanted) break;
    }
    return true;
}

void SocketStream::written(std::size_t bytes) {
    front_written_ += bytes;
    while (!out_.empty() && front_written_ >= out_.front().length()) {
        front_written_ -= out_.front().length();
        Out const out = std::move(out_.front());
        out_.pop_front();
        finish(out);
    }
}

void SocketStream::finish(Out const& out) {
    if (out.send == nullptr || out.frame.kind == Frame::Kind::announce) return;
    Send& send = *out.send;
    if (out.frame.kind == Frame::Kind::data && send.taken < send.frame.bytes)
        bulk_.push_back(&send);
    else send.done.store(true, std::memory_order_release);
}

/// Returns nothing if the socket has no data, false at the end of file or on an error.
std::optional<bool> SocketStream::receive_some(std::size_t& wanted) {
    std::array<iovec, 2> parts;
    std::size_t count = 0;
    bool const direct = sink_.left > 0 && sink_.to != nullptr;  // the buffer is empty then
    if (direct) parts[count++] = {sink_.to, sink_.left};
    parts[count++] = {buffer_.data() + end_, buffer_.size() - end_};
    wanted = buffer_.size() - end_ + (direct ? sink_.left : 0);
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = count;
    ssize_t const result = ::recvmsg(fd_.get(), &message, MSG_DONTWAIT);
    if (result < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK))
        return std::nullopt;
    if (result <= 0) return false;
    auto got = static_cast<std::size_t>(result);
    wanted -= got;
    if (direct) {
        std::size_t const part = std::min(got, sink_.left);
        sink_.to += part;
        sink_.left -= part;
        got -= part;
    }
    end_ += got;
    return true;
}

bool SocketStream::read(Reader& reader) {
    for (int turn = 0; turn < turns && state_ == State::open; ++turn) {
        bool const was_inside = sink_.left > 0;
        std::size_t missing = 0;
        auto const alive = receive_some(missing);
        if (!alive) return true;
        if (!*alive) return false;
        if (was_inside && sink_.left == 0) reader.complete(*this, std::exchange(sink_, {}));
        if (!parse(reader)) return false;
        if (missing > 0) break;  // the socket is empty
    }
    return true;
}

bool SocketStream::parse(Reader& reader) {
    ScopeExit const keep_the_rest([this] {
        std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
        end_ -= std::exchange(begin_, 0);
    });
    while (end_ - begin_ > 0) {
        std::size_t const have = end_ - begin_;
        if (sink_.left > 0) {
            std::size_t const part = std::min(have, sink_.left);
            if (sink_.to != nullptr) {
                std::memcpy(sink_.to, buffer_.data() + begin_, part);
                sink_.to += part;
            }
            sink_.left -= part;
            begin_ += part;
            if (sink_.left == 0) reader.complete(*this, std::exchange(sink_, {}));
            continue;
        }
        if (have < sizeof(Frame)) break;
        Frame frame;
        std::memcpy(&frame, buffer_.data() + begin_, sizeof(Frame));
        if (!plausible(frame)) {
            complaint_ = text("sent something that is not a frame (kind ",
                              static_cast<unsigned>(frame.kind), ", ", frame.bytes, " bytes)");
            return false;
        }
        sink_ = reader.arrived(*this, frame);
        begin_ += sizeof(Frame);  // not before: without memory for it, it arrives again
        if (sink_.left == 0 && (sink_.receive != nullptr || sink_.message != nullptr))
            reader.complete(*this, std::exchange(sink_, {}));
    }
    return true;
}

bool SocketStream::plausible(Frame const& frame) const {
    switch (frame.kind) {
        case Frame::Kind::message:
            return frame.bytes <= eager_bytes && frame.tag >= 0;
        case Frame::Kind::announce:
            return frame.tag >= 0;
        case Frame::Kind::data:
            return frame.bytes <= piece_bytes;
        default:
            return frame.kind <= Frame::Kind::farewell;
    }
}

}  // namespace sinew::detail
