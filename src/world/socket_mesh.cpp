// SPDX-License-Identifier: Apache-2.0
#include "src/world/socket_mesh.hpp"

#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <sinew/error.hpp>

#include "src/base/system/io.hpp"
#include "src/base/text.hpp"
#include "src/wire/socket/sockets.hpp"

namespace sinew {

using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t timer_number = 1023;
constexpr auto tick_interval = 50ms;
/// Time limit for an incoming Hello while max_unproven is reached.
constexpr auto patience_with_the_silent = 500ms;
/// The same for the proof after a Hello, which anyone can guess. A slower rank dials again.
constexpr auto patience_with_the_unproven = 2000ms;

wire::SocketAddress resolve(wire::Address const& address) {
    if (address.family == wire::Address::Family::unix_socket)
        return wire::unix_address(address.host);
    if (auto const found = wire::numeric_address(address)) return *found;
    throw UsageError(text(address.text(), ": not a numeric address. Write 10.0.0.3 or fd00::3"));
}

}  // namespace

SocketMesh::SocketMesh(WorldFile world, int rank, std::vector<UniqueFd> listeners, Options options)
    : world_(std::move(world)),
      options_(options), self_{world_.key, static_cast<std::uint32_t>(rank),
                               static_cast<std::uint32_t>(world_.size()), world_.epoch},
      listeners_(std::move(listeners)), epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)),
      peers_(world_.ranks.size()) {
    if (rank < 0 || rank >= world_.size())
        throw UsageError(text("rank ", rank, " (the world file has ranks 0 to ", world_.size() - 1,
                              "). Is SINEW_RANK that of this job?"));
    if (!epoll_ || !timer_)
        throw_errno(text("rank ", rank, ": no descriptors for connections"),
                    "Raise the limit of open files (ulimit -n)");
    watch(timer_.get(), timer_number, EPOLLIN, EPOLL_CTL_ADD);
    for (std::size_t i = 0; i < listeners_.size(); ++i)
        watch(listeners_[i].get(), i, EPOLLIN, EPOLL_CTL_ADD);
}

void SocketMesh::watch(int fd, std::uint64_t number, std::uint32_t events, int operation) {
    epoll_event event{};
    event.events = events;
    event.data.u64 = number;
    if (::epoll_ctl(epoll_.get(), operation, fd, &event) != 0)
        throw_errno(text("rank ", rank(), ": cannot watch a socket"), "Is it one?");
}

void SocketMesh::want(int rank) {
    if (peer(rank).state != State::none) return;
    dial(rank);
    set_timer();
}

void SocketMesh::dial(int rank) try {
    peer(rank).state = State::dialling;
    wire::Address const& address = world_.address(this->rank(), rank);
    wire::SocketAddress const where = resolve(address);
    UniqueFd fd = wire::new_socket(where.get()->sa_family);
    wire::set_tcp_options(fd.get());
    bool const connected = ::connect(fd.get(), where.get(), where.length) == 0;
    if (!connected && errno != EINPROGRESS) {
        // EAGAIN: the queue of the peer's Unix socket is full.
        if (errno == EAGAIN || errno == EINTR) return dial_again(rank, State::dialling, 50ms);
        return lose(rank, text(address.text(), ": ", std::strerror(errno)));
    }
    Handshake handshake(self_, std::move(fd), rank);
    if (connected && !handshake.greet()) return dial_again(rank, State::dialling, 100ms);
    peer(rank).dial = numbers_;
    add(std::move(handshake), connected ? EPOLLIN : EPOLLOUT);  // writable: connected, or refused
} catch (Error const& error) {
    lose(rank, error.what());
}

void SocketMesh::dial_again(int rank, State state, std::chrono::milliseconds pause) {
    Peer& them = peer(rank);
    them.state = state;
    them.dial = 0;
    them.next = Clock::now() + pause;
    ++redials_;
}

void SocketMesh::add(Handshake handshake, std::uint32_t events) {
    watch(handshake.fd(), numbers_, events, EPOLL_CTL_ADD);
    if (!handshake.dials()) ++unproven_;
    handshakes_.emplace(numbers_++, std::move(handshake));
}

void SocketMesh::accept(std::size_t listener) {
    while (unproven_ < options_.max_unproven) {
        sockaddr_storage from{};
        socklen_t length = sizeof(from);
        UniqueFd fd(::accept4(listeners_[listener].get(), reinterpret_cast<sockaddr*>(&from),
                              &length, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (!fd && (errno == EINTR || errno == ECONNABORTED)) continue;
        if (!fd) {
            // Possibly out of descriptors. Stop watching the listener, which stays readable.
            if (errno != EAGAIN && errno != EWOULDBLOCK) break;
            return;
        }
        if (from.ss_family == AF_UNIX && !wire::check_peer_user(fd.get()).empty()) {
            ++refused_;
            continue;
        }
        wire::set_tcp_options(fd.get());
        add(Handshake(self_, std::move(fd)), EPOLLIN);
    }
    full_ = true;
    for (std::size_t i = 0; i < listeners_.size(); ++i)
        watch(listeners_[i].get(), i, 0, EPOLL_CTL_MOD);
}

void SocketMesh::listen_again() {
    full_ = false;
    for (std::size_t i = 0; i < listeners_.size(); ++i)
        watch(listeners_[i].get(), i, EPOLLIN, EPOLL_CTL_MOD);
}

std::vector<Connector::Event> SocketMesh::progress() {
    std::array<epoll_event, 64> ready;
    int const count = ::epoll_wait(epoll_.get(), ready.data(), ready.size(), 0);
    for (int i = 0; i < count; ++i) {
        epoll_event const& event = ready[static_cast<std::size_t>(i)];
        std::uint64_t const number = event.data.u64;
        if (number < listeners_.size()) accept(number);
        else if (number == timer_number) tick();
        else if (auto const found = handshakes_.find(number); found != handshakes_.end())
            advance(number, found->second, event.events);
    }
    auto events = std::exchange(events_, {});
    set_timer();
    return events;
}

/// Erases the handshake unless it is still in progress.
void SocketMesh::advance(std::uint64_t number, Handshake& handshake, std::uint32_t events) {
    if (handshake.dials() && !handshake.greeted()) return connected(number, handshake);
    if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) == 0) return;
    auto const result = handshake.advance();
    if (result == Handshake::Result::more) return;
    if (handshake.dials()) return end_dial(number, handshake, result);
    --unproven_;
    if (result == Handshake::Result::proven) return decide(number, handshake);
    ++refused_;
    handshakes_.erase(number);
}

void SocketMesh::connected(std::uint64_t number, Handshake& handshake) {
    int error = 0;
    socklen_t length = sizeof(error);
    ::getsockopt(handshake.fd(), SOL_SOCKET, SO_ERROR, &error, &length);
    if (error == 0 && handshake.greet())
        return watch(handshake.fd(), number, EPOLLIN, EPOLL_CTL_MOD);
    int const rank = handshake.peer();
    handshakes_.erase(number);
    if (error == 0) return dial_again(rank, State::dialling, 100ms);
    lose(rank, text(world_.address(this->rank(), rank).text(), ": ", std::strerror(error)));
}

void SocketMesh::end_dial(std::uint64_t number, Handshake& handshake, Handshake::Result result) {
    int const rank = handshake.peer();
    if (result == Handshake::Result::proven) return meet(number, handshake, rank);
    handshakes_.erase(number);
    if (result == Handshake::Result::foreign)
        return lose(rank, "the process that answers at its address does not know this job's key");
    // Yielded: the peer's own dial should arrive soon; if it fails, we dial again. Closed: we were
    // too slow for the peer, or it is gone, and the next dial is refused.
    bool const yielded = result == Handshake::Result::yielded;
    dial_again(rank, yielded ? State::yielded : State::dialling, yielded ? 1000ms : 100ms);
}

void SocketMesh::decide(std::uint64_t number, Handshake& handshake) {
    int const rank = handshake.peer();
    Peer& them = peer(rank);
    bool const ours_stays = them.state == State::dialling && this->rank() < rank;
    bool const over = them.state == State::met || them.state == State::lost;
    if (ours_stays) handshake.verdict(false);
    if (ours_stays || over || !handshake.verdict(true)) {
        handshakes_.erase(number);
        return;
    }
    if (them.dial != 0) handshakes_.erase(std::exchange(them.dial, 0));
    meet(number, handshake, rank);
}

void SocketMesh::meet(std::uint64_t number, Handshake& handshake, int rank) {
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, handshake.fd(), nullptr);
    peer(rank) = {State::met, 0, {}};
    events_.push_back({rank, handshake.take(), ""});
    handshakes_.erase(number);
}

void SocketMesh::lose(int rank, std::string const& why) {
    auto const node = static_cast<std::size_t>(world_.ranks[static_cast<std::size_t>(rank)].node);
    peer(rank) = {State::lost, 0, {}};
    events_.push_back({rank, UniqueFd(), text("on ", world_.nodes[node], ", ", why)});
}

void SocketMesh::tick() {
    std::uint64_t expirations = 0;
    static_cast<void>(!::read(timer_.get(), &expirations, sizeof(expirations)));
    auto const now = Clock::now();
    for (auto entry = handshakes_.begin(); entry != handshakes_.end();) {
        auto const& [number, handshake] = *entry;
        auto const age = now - handshake.since();
        bool const late = full_ && age > (handshake.greeted() ? patience_with_the_unproven
                                                              : patience_with_the_silent);
        int const rank = handshake.peer();
        if (handshake.dials()) {
            // There is no deadline once it is connected, because the peer may be busy.
            bool const unreachable = !handshake.greeted() && age > options_.connect;
            entry = unreachable ? handshakes_.erase(entry) : std::next(entry);
            if (unreachable) lose(rank, "its host does not answer");
        } else if (late || age > options_.handshake) {
            --unproven_;
            ++refused_;
            entry = handshakes_.erase(entry);
        } else ++entry;
    }
    if (full_) listen_again();
    if (std::exchange(redials_, 0) == 0) return;
    for (int rank = 0; rank < size(); ++rank) {
        Peer& them = peer(rank);
        bool const waits = them.state == State::dialling || them.state == State::yielded;
        if (!waits || them.dial != 0) continue;
        if (them.next <= now) dial(rank);
        else ++redials_;
    }
}

/// Runs the timer only while something is pending, so that an idle world has no timer.
void SocketMesh::set_timer() {
    bool const needed = !handshakes_.empty() || redials_ > 0 || full_ || !events_.empty();
    if (needed == ticking_) return;
    ticking_ = needed;
    itimerspec spec{};
    if (needed) {
        spec.it_interval.tv_nsec = std::chrono::nanoseconds(tick_interval).count();
        spec.it_value = spec.it_interval;
    }
    ::timerfd_settime(timer_.get(), 0, &spec, nullptr);
}

}  // namespace sinew
