// SPDX-License-Identifier: Apache-2.0
#include "src/transport/socket_engine.hpp"

#include <linux/sockios.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include <sinew/error.hpp>

#include "src/base/log.hpp"
#include "src/base/system/io.hpp"
#include "src/base/text.hpp"

namespace sinew::detail {

namespace {

/// The time limit for sending queued frames when the last transport is destroyed.
constexpr auto parting = std::chrono::seconds(5);
constexpr auto look_for_answers = std::chrono::seconds(1);
constexpr std::uint32_t connector_mark = ~std::uint32_t{0};

/// Returns whether the peer's kernel has received everything, or the peer is gone. A socket must
/// not be closed earlier, or with unread data: anything that the peer sends (such as a credit)
/// would be answered by a reset, which discards data still in flight to the peer.
bool has_delivered(int fd) {
    std::array<std::byte, 4096> rest;
    ssize_t got = 0;
    do got = ::recv(fd, rest.data(), rest.size(), MSG_DONTWAIT);
    while (got > 0);
    int domain = 0, unsent = 0;
    socklen_t length = sizeof(domain);
    bool const open = got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
    if (!open || ::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) != 0) return true;
    return domain == AF_UNIX || ::ioctl(fd, SIOCOUTQ, &unsent) != 0 || unsent == 0;
}

}  // namespace

SocketEngine::SocketEngine(std::unique_ptr<Connector> connector)
    : connector_(std::move(connector)), me_(connector_->rank()),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    auto const size = static_cast<std::size_t>(connector_->size());
    for (std::size_t rank = 0; rank < size; ++rank)
        streams_.push_back(std::make_unique<SocketStream>(static_cast<int>(rank)));
    writable_wanted_.resize(size);
    died_.resize(size);
    answers_.resize(size);
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u32 = connector_mark;
    if (!epoll_ || ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, connector_->descriptor(), &event) != 0)
        throw_errno("epoll is not available for the connections of this rank",
                    "Is the limit of open files (ulimit -n) reached?");
}

SocketEngine::~SocketEngine() { say_farewell(); }

SocketEngine::Group SocketEngine::world() {
    std::scoped_lock const lock(mutex_);
    return groups_.make_world(connector_->size());
}

SocketEngine::Group SocketEngine::split(SocketGroup& parent, std::vector<int> members) {
    std::scoped_lock const lock(mutex_);
    return groups_.split(parent, std::move(members));
}

void SocketEngine::leave(SocketGroup& group) {
    std::scoped_lock const lock(mutex_);
    for (UnexpectedMessage& message : group.messages) answer_unwanted(message);
    group.messages.clear();
    groups_.remove(group);
    flush_posted();
}

void SocketEngine::post(SocketStream& stream, Frame::Kind kind, std::uint64_t id,
                        std::uint64_t bytes) {
    Frame frame;
    frame.kind = kind;
    frame.id = id;
    frame.bytes = bytes;
    stream.post(frame);
    posted_.push_back(stream.peer());
}

std::unique_ptr<Send> SocketEngine::start_send(SocketGroup& group, int to, int tag,
                                               std::span<std::byte const> bytes) {
    Frame frame;
    frame.tag = tag;
    frame.group = group.id;
    frame.bytes = bytes.size();
    auto send = std::make_unique<Send>(to, frame, bytes.data());
    std::scoped_lock const lock(mutex_);
    if (to == me_) {
        if (send_to_self(group, *send)) send.reset();
        return send;
    }
    SocketStream& way = stream(to);
    way.send(*send);
    if (way.state() == SocketStream::State::waiting) want(way);
    flush(way);
    if (send->done.load(std::memory_order_relaxed)) send.reset();
    return send;
}

std::unique_ptr<Receive> SocketEngine::start_receive(SocketGroup& group, int from, int tag,
                                                     std::span<std::byte> bytes) {
    auto receive = std::make_unique<Receive>(&group, from, tag, bytes.data(), bytes.size());
    std::scoped_lock const lock(mutex_);
    match(group, *receive);
    flush_posted();
    return receive;
}

void SocketEngine::progress() {
    std::unique_lock const lock(mutex_, std::try_to_lock);
    if (lock.owns_lock()) progress_locked();
}

void SocketEngine::cancel(Transfer& transfer) noexcept {
    std::scoped_lock const lock(mutex_);
    if (transfer.done.load(std::memory_order_relaxed)) return;
    if (transfer.send) cancel_send(static_cast<Send&>(transfer));
    else cancel_receive(static_cast<Receive&>(transfer));
    flush_posted();
}

bool SocketEngine::withdraw(Transfer& transfer) noexcept {
    std::scoped_lock const lock(mutex_);
    if (transfer.send || transfer.done.load(std::memory_order_relaxed)) return false;
    auto& receive = static_cast<Receive&>(transfer);
    return std::erase(receive.group->posted, &receive) > 0;
}

std::optional<Transport::Received> SocketEngine::probe(SocketGroup& group, int from, int tag) {
    std::scoped_lock const lock(mutex_);
    auto found = group.find_message(from, tag);
    if (found == group.messages.end()) {
        progress_locked();
        found = group.find_message(from, tag);
    }
    if (found == group.messages.end()) return std::nullopt;
    return Transport::Received{found->source, found->tag, found->bytes};
}

/// Returns whether a transfer waits for this rank in particular.
bool SocketEngine::is_awaited(SocketGroup const& group, int rank) {
    return stream(rank).busy() ||
           std::any_of(group.posted.begin(), group.posted.end(),
                       [&](Receive const* receive) { return receive->from == rank; });
}

std::vector<int> SocketEngine::lost(SocketGroup const& group) {
    std::scoped_lock const lock(mutex_);
    progress_locked();
    lose_silent_hosts();
    // A dead process is noticed by its connection, so each rank that is waited for needs one.
    for (Receive const* receive : group.posted)
        if (receive->from != any_source && receive->from != me_) want(stream(receive->from));
    std::vector<int> ranks;
    for (int const rank : group.members) {
        bool const left = stream(rank).said_farewell() && is_awaited(group, rank);
        if (died_[static_cast<std::size_t>(rank)] || left) ranks.push_back(rank);
    }
    return ranks;
}

void SocketEngine::want(SocketStream& stream) {
    if (stream.state() == SocketStream::State::waiting) connector_->want(stream.peer());
}

void SocketEngine::connect_some() {
    for (Connector::Event& event : connector_->progress()) {
        SocketStream& way = stream(event.peer);
        if (!event.fd) {
            lose(way, event.why);
            continue;
        }
        way.attach(std::move(event.fd));
        watch(way, true);
        flush(way);
    }
}

void SocketEngine::watch(SocketStream& stream, bool added) {
    auto const rank = static_cast<std::size_t>(stream.peer());
    bool const writable = stream.pending();
    if (!added && writable_wanted_[rank] == writable) return;
    writable_wanted_[rank] = writable;
    epoll_event event{};
    event.events = writable ? EPOLLIN | EPOLLOUT : EPOLLIN;
    event.data.u32 = static_cast<std::uint32_t>(rank);
    if (::epoll_ctl(epoll_.get(), added ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, stream.fd(), &event) != 0)
        lose(stream, text("epoll_ctl: ", std::strerror(errno)));
}

void SocketEngine::lose(SocketStream& stream, std::string const& why) {
    if (stream.state() == SocketStream::State::closed) return;
    drop_unfetched(stream);
    stream.close();  // closing the descriptor also removes it from epoll
    if (stream.said_farewell()) return;
    died_[static_cast<std::size_t>(stream.peer())] = true;
    if (!why.empty())
        log_warning(text("rank ", me_, " has lost rank ", stream.peer(), " (", why, ")"));
}

// Without this, the kernel would give up a connection only after a quarter of an hour.
void SocketEngine::lose_silent_hosts() {
    auto const now = TcpAnswers::Clock::now();
    if (now - asked_at_ < look_for_answers) return;
    asked_at_ = now;
    for (auto const& way : streams_) {
        if (way->state() != SocketStream::State::open) continue;
        auto const sample = TcpAnswers::sample(way->fd());
        if (!sample) continue;
        auto const silence = answers_[static_cast<std::size_t>(way->peer())].silence(now, *sample);
        if (silence >= host_gone_after)
            lose(*way,
                 text("its host has not answered for ",
                      std::chrono::duration_cast<std::chrono::seconds>(silence).count(), " s"));
    }
}

/// Drops messages whose bytes are not all here and can no longer arrive: probe must not find such a
/// message, and a receive matched with it would wait forever.
void SocketEngine::drop_unfetched(SocketStream& stream) {
    UnexpectedMessage const* const arriving = stream.sink().message;
    groups_.each([&](SocketGroup& group) {
        group.messages.remove_if([&](UnexpectedMessage const& message) {
            return &message == arriving || (message.kind == UnexpectedMessage::Kind::announced &&
                                            message.source == stream.peer());
        });
    });
}

void SocketEngine::flush(SocketStream& stream) {
    if (stream.state() != SocketStream::State::open) return;
    if (stream.flush()) watch(stream, false);
    // The peer may have sent data before it closed: read until the end of file.
    else if (!stream.read(*this)) lose(stream, stream.complaint());
}

void SocketEngine::flush_posted() {
    while (!posted_.empty()) {
        std::vector<int> const ranks = std::exchange(posted_, {});
        for (int const rank : ranks) {
            want(stream(rank));
            flush(stream(rank));
        }
    }
}

void SocketEngine::serve(SocketStream& stream, std::uint32_t events) {
    if (stream.state() != SocketStream::State::open) return;
    if ((events & EPOLLOUT) != 0) flush(stream);
    if (stream.state() != SocketStream::State::open || (events & ~std::uint32_t{EPOLLOUT}) == 0)
        return;
    if (!stream.read(*this)) lose(stream, stream.complaint());
}

void SocketEngine::progress_locked() {
    std::array<epoll_event, 32> events;
    int const count = ::epoll_wait(epoll_.get(), events.data(), events.size(), 0);
    for (int i = 0; i < count; ++i) {
        epoll_event const& event = events[static_cast<std::size_t>(i)];
        if (event.data.u32 == connector_mark) connect_some();
        else serve(stream(static_cast<int>(event.data.u32)), event.events);
    }
    flush_posted();
}

void SocketEngine::say_farewell() noexcept try {
    std::scoped_lock const lock(mutex_);
    auto const until = std::chrono::steady_clock::now() + parting;
    auto const late = [&] { return std::chrono::steady_clock::now() > until; };
    std::vector<int> leaving;
    for (auto const& way : streams_) {
        if (way->state() != SocketStream::State::open) continue;
        post(*way, Frame::Kind::farewell, 0);
        while (way->flush() && way->pending() && !late()) {
            pollfd wait{way->fd(), POLLOUT, 0};
            ::poll(&wait, 1, 10);
            way->read(*this);  // the peer may not read until its own data is read
        }
        ::shutdown(way->fd(), SHUT_WR);
        leaving.push_back(way->fd());
    }
    for (;;) {
        std::erase_if(leaving, has_delivered);
        if (leaving.empty() || late()) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
} catch (std::exception const& error) {
    log_warning(text("rank ", me_, ": leaving without telling the other ranks: ", error.what()));
}

}  // namespace sinew::detail
