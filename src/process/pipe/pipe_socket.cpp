// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <optional>
#include <sinew/detail/pipe_end.hpp>
#include <span>

#include "src/base/text.hpp"
#include "src/base/waiting/wake_up.hpp"
#include "src/process/pipe/message.hpp"
#include "src/process/pipe/registry.hpp"

namespace sinew::detail {

using process::open_pipe;
using process::PipeHandle;
using process::PipeMessage;
using process::PipeRegistry;

struct PipeSocket::State {
    State(UniqueFd fd_, Direction direction_) : fd(std::move(fd_)), direction(direction_) {}

    UniqueFd fd;
    Direction direction;
    enum class Where { here, closed, sent_away } where = Where::here;
    std::mutex sending, receiving;  ///< holding both: exclusive use of the end
    PipeMessage message;
    std::optional<SpinPolicy> policy;  ///< made with the first wait

    void check() const {
        if (where == Where::closed)
            throw PipeClosed(
                "this end of the pipe was closed here. Nothing can be sent or received");
        if (where == Where::sent_away)
            throw UsageError(
                "this end of the pipe was sent away (it is in one place at a time). Use it where "
                "it was sent to");
    }
    void check(Direction unfit, char const* what) const {
        check();
        if (direction == unfit)
            throw UsageError(
                text("a one-way pipe: this end does not ", what, ". Use the other one"));
    }
    bool readable(Deadline deadline) const;
    bool receive_some(Deadline deadline);
    std::optional<ssize_t> look(std::span<std::byte> room, Deadline began);
};

namespace {

[[noreturn]] void refuse_closed(char const* what) {
    throw PipeClosed(
        text("the other end of a pipe is gone (closed, or its process has ended); ", what));
}

[[noreturn]] void refuse(char const* call) {
    int const error = errno;
    throw SystemError(text("a pipe fails (", call, ": ", std::strerror(error), ")"), error);
}

int milliseconds_until(Deadline deadline) {
    if (deadline == Deadline::max()) return -1;
    if (deadline == Deadline::min()) return 0;
    auto const left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - Deadline::clock::now());
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1 << 30));
}

}  // namespace

PipeSocket::PipeSocket(std::unique_ptr<State> state) : state_(std::move(state)) {}

PipeSocket::~PipeSocket() = default;

void PipeSocket::send(std::span<std::byte const> message) {
    std::lock_guard const lock(state_->sending);
    state_->check(Direction::in, "send");
    std::uint64_t size = message.size();
    iovec blocks[2] = {{&size, sizeof size},
                       {const_cast<std::byte*>(message.data()), message.size()}};
    msghdr header{};
    header.msg_iov = blocks;
    header.msg_iovlen = 2;
    for (auto left = sizeof size + message.size(); left > 0;) {
        auto const count = ::sendmsg(state_->fd.get(), &header, MSG_NOSIGNAL);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 && (errno == EPIPE || errno == ECONNRESET))
            refuse_closed("what was sent is lost");
        if (count < 0) refuse("sendmsg");
        left -= static_cast<std::size_t>(count);
        auto moved = static_cast<std::size_t>(count);
        for (auto& block : blocks) {
            auto const part = std::min(moved, block.iov_len);
            block.iov_base = static_cast<char*>(block.iov_base) + part;
            block.iov_len -= part;
            moved -= part;
        }
    }
}

bool PipeSocket::State::readable(Deadline deadline) const {
    for (;;) {
        pollfd one{fd.get(), POLLIN, 0};
        int const limit = milliseconds_until(deadline);
        int const count = ::poll(&one, 1, limit);
        if (count > 0) return true;
        if (count == 0 && limit != 1 << 30) return false;
        if (count < 0 && errno != EINTR) refuse("poll");
    }
}

// Polls for a while before the thread sleeps. Returns the result of `recv`; nothing: no data.
std::optional<ssize_t> PipeSocket::State::look(std::span<std::byte> room, Deadline began) {
    if (!policy) policy = make_spin_policy();
    auto const time = policy->time();
    for (auto now = began;; now = Deadline::clock::now()) {
        auto const count = ::recv(fd.get(), room.data(), room.size(), MSG_DONTWAIT);
        bool const nothing = count < 0 && errno == EAGAIN;
        if (!nothing && now != began) policy->found(now - began);
        if (!nothing) return count;
        if (now - began < time) continue;
        if (now != began) policy->missed(now - began);
        return std::nullopt;
    }
}

// Returns false if no data arrived by the deadline.
bool PipeSocket::State::receive_some(Deadline deadline) {
    auto const began = Deadline::clock::now();
    auto const room = message.room();
    auto seen = look(room, began);
    if (!seen) {
        bool const timed = deadline != Deadline::max();
        if (timed && !readable(deadline)) return false;
        seen = ::recv(fd.get(), room.data(), room.size(), timed ? MSG_DONTWAIT : 0);
        policy->slept(Deadline::clock::now() - began);
    }
    auto const count = *seen;
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return true;
    if (count == 0 || (count < 0 && errno == ECONNRESET))
        refuse_closed(message.begun().empty() ? "all it had sent has been received"
                                              : "its last message is cut short");
    if (count < 0) refuse("recv");
    message.filled(static_cast<std::size_t>(count));
    return true;
}

std::optional<std::vector<std::byte>> PipeSocket::receive(Deadline deadline) {
    std::lock_guard const lock(state_->receiving);
    state_->check(Direction::out, "receive");
    while (!state_->message.whole())
        if (!state_->receive_some(deadline)) return std::nullopt;
    return state_->message.take();
}

bool PipeSocket::poll(Deadline deadline) {
    std::lock_guard const lock(state_->receiving);
    state_->check(Direction::out, "receive");
    return state_->message.whole() || state_->readable(deadline);
}

int PipeSocket::fileno() const {
    std::lock_guard const lock(state_->receiving);
    return state_->fd.get();
}

void PipeSocket::close() {
    ::shutdown(state_->fd.get(), SHUT_RDWR);  // wakes threads that wait in it
    std::scoped_lock const lock(state_->sending, state_->receiving);
    if (state_->where != State::Where::here) return;
    state_->where = State::Where::closed;
    UniqueFd const closed(std::move(state_->fd));
}

void PipeSocket::encode_to(Writer& writer) {
    std::scoped_lock const lock(state_->sending, state_->receiving);
    state_->check();
    auto handle = PipeRegistry::instance().keep(std::move(state_->fd));
    state_->where = State::Where::sent_away;
    handle.direction = static_cast<std::uint8_t>(state_->direction);
    handle.begun = state_->message.begun();
    encode(writer, handle);
}

namespace {

std::shared_ptr<PipeSocket> make_socket(UniqueFd fd, PipeSocket::Direction direction) {
    return std::make_shared<PipeSocket>(
        std::make_unique<PipeSocket::State>(std::move(fd), direction));
}

}  // namespace
}  // namespace sinew::detail

namespace sinew {

std::shared_ptr<detail::PipeSocket> process::open_pipe(PipeHandle const& handle,
                                                       PipeRegistry::Route route) {
    using detail::PipeSocket;
    if (handle.direction > static_cast<std::uint8_t>(PipeSocket::Direction::out))
        throw DecodeError(text("the end of a pipe has an unknown direction (", +handle.direction,
                               "). Do both processes run the same program?"));
    auto state =
        std::make_unique<PipeSocket::State>(PipeRegistry::instance().fetch(handle, route),
                                            static_cast<PipeSocket::Direction>(handle.direction));
    state->message.begin_with(handle.begun);
    return std::make_shared<PipeSocket>(std::move(state));
}

}  // namespace sinew

namespace sinew::detail {

std::pair<std::shared_ptr<PipeSocket>, std::shared_ptr<PipeSocket>> make_pipe_sockets(bool duplex) {
    using Direction = PipeSocket::Direction;
    auto [left, right] = process::connected_sockets();
    return {make_socket(std::move(left), duplex ? Direction::both : Direction::in),
            make_socket(std::move(right), duplex ? Direction::both : Direction::out)};
}

std::shared_ptr<PipeSocket> fetch_pipe_socket(Reader& reader) {
    auto const handle = decode<PipeHandle>(reader);
    return open_pipe(handle, PipeRegistry::instance().route(handle));
}

}  // namespace sinew::detail
