// SPDX-License-Identifier: Apache-2.0
#include "src/process/pipe/registry.hpp"

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <sinew/error.hpp>
#include <utility>

#include "src/base/log.hpp"
#include "src/base/system/io.hpp"
#include "src/base/text.hpp"
#include "src/process/pipe/fd.hpp"
#include "src/wire/socket/sockets.hpp"
#include "src/wire/tls/secret.hpp"

namespace sinew::process {
namespace {

constexpr std::size_t most_visitors = 256;
constexpr auto patience = std::chrono::seconds(10);
constexpr auto pause_without_descriptors = std::chrono::milliseconds(100);

// Half of the descriptors that this process may have: the rest is for its other work.
std::size_t most_kept() {
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY)
        return std::size_t{1} << 16;
    return std::max<std::size_t>(16, files.rlim_cur / 2);
}

PipeToken random_token() {
    PipeToken token;
    auto const secret = wire::Secret::random();
    std::memcpy(token.data(), secret.bytes().data(), sizeof token);
    return token;
}

[[noreturn]] void refuse_gone(PipeHandle const& handle, std::string const& why) {
    throw PeerLost(text("the end of a pipe that ", handle.keeper.name,
                        " kept for its receiver is not there (", why,
                        "). An end can be decoded once, while the sender lives"));
}

// Fetches the descriptor (SCM_RIGHTS) from the process that keeps it.
UniqueFd fetch_directly(PipeHandle const& handle) {
    auto const address = wire::unix_address(handle.server);
    UniqueFd const socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!socket) throw_errno("a socket cannot be created");
    if (::connect(socket.get(), address.get(), address.length) != 0)
        refuse_gone(handle, std::strerror(errno));
    if (auto const problem = wire::check_peer_user(socket.get()); !problem.empty())
        refuse_gone(handle, problem);
    timeval const limit{std::chrono::seconds(patience).count(), 0};
    ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (::send(socket.get(), handle.token.data(), sizeof handle.token, MSG_NOSIGNAL) !=
        sizeof handle.token)
        refuse_gone(handle, std::strerror(errno));
    auto end = receive_fd(socket.get());
    if (!end) refuse_gone(handle, "it was fetched before, or its keeper is gone or stuck");
    return end;
}

}  // namespace

std::pair<UniqueFd, UniqueFd> connected_sockets() {
    auto ends = socket_pair();
    if (!ends.first)
        throw_errno("a pipe cannot be created", "Is the limit of open files (ulimit -n) reached?");
    return ends;
}

PipeRegistry::PipeRegistry(Messenger& messenger) : messenger_(messenger), relays_(messenger_) {
    messenger_.serve(ServiceId::pipe,
                     {[this](auto const& peer, Message const& each) { message(peer, each); },
                      [this](auto const& peer, std::string const&) { relays_.lost(peer); }, [] {}});
}

PipeHandle PipeRegistry::keep(UniqueFd end) {
    Lock const lock(messenger_.guard());
    if (kept_.size() >= most_kept())
        throw SystemError(
            text(kept_.size(), " ends of pipes that ", messenger_.runtime().name(),
                 " has sent have not been decoded yet (no more than half of the files that it may "
                 "open are kept for that). Decode each where it was sent, or raise ulimit -n"),
            EMFILE);
    if (!listening_) listen();
    PipeHandle handle;
    handle.keeper = messenger_.own_address();
    handle.server = path_;
    handle.token = random_token();
    kept_.emplace(handle.token, std::move(end));
    return handle;
}

void PipeRegistry::listen() {
    path_ = messenger_.runtime().folder() + "/pipes";
    listening_ = wire::listening_socket(wire::Address::unix_socket(path_));
    watch();
}

void PipeRegistry::watch() {
    pause_ = {};
    acceptable_ = messenger_.runtime().loop().readable(listening_.get(), [this] { accept(); });
}

void PipeRegistry::accept() {
    UniqueFd socket(::accept4(listening_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket) {
        if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM) return;
        // The socket stays readable: retrying at once would use a whole core.
        acceptable_ = {};
        pause_ = messenger_.runtime().loop().after(pause_without_descriptors, [this] { watch(); });
        return;
    }
    if (auto const problem = wire::check_peer_user(socket.get()); !problem.empty())
        return log_warning(text("refused at ", path_, ": ", problem));
    if (visitors_.size() >= most_visitors) visitors_.pop_front();
    auto const visitor = visitors_.emplace(visitors_.end());
    visitor->socket = std::move(socket);
    auto& loop = messenger_.runtime().loop();
    visitor->deadline = loop.after(patience, [this, visitor] { visitors_.erase(visitor); });
    visitor->readable = loop.readable(visitor->socket.get(), [this, visitor] { serve(visitor); });
}

void PipeRegistry::serve(Visitors::iterator visitor) {
    PipeToken token{};
    auto const socket = visitor->socket.get();
    // A client of ours sends these few bytes in one piece.
    auto const count = ::recv(socket, token.data(), sizeof token, MSG_DONTWAIT);
    if (count == sizeof token) {
        auto const found = kept_.find(token);
        if (found != kept_.end() && send_fd(socket, found->second.get())) kept_.erase(found);
    }
    visitors_.erase(visitor);
}

UniqueFd PipeRegistry::take(PipeToken const& token) {
    auto found = kept_.extract(token);
    return found ? std::move(found.mapped()) : UniqueFd();
}

PipeRegistry::Route PipeRegistry::route(PipeHandle const& handle) const {
    return handle.keeper.host == messenger_.runtime().host() ? Route::direct : Route::relayed;
}

UniqueFd PipeRegistry::fetch(PipeHandle const& handle, Route route) {
    {
        auto const lock = messenger_.lock();
        if (handle.keeper.origin == messenger_.origin()) {
            auto end = take(handle.token);
            if (!end) refuse_gone(handle, "it was fetched before");
            return end;
        }
        if (route == Route::relayed) {
            auto [user, relayed] = connected_sockets();
            auto const peer = messenger_.find(handle.keeper);
            relays_.add(peer, handle.token[0], std::move(relayed));
            relays_.send(peer, PipeOp::claim, handle.token[0], 0, bytes_of(handle.token));
            messenger_.flush_batches();
            return std::move(user);
        }
    }
    return fetch_directly(handle);
}

void PipeRegistry::message(std::shared_ptr<Peer> const& peer, Message const& message) {
    if (message.head.op != static_cast<std::uint16_t>(PipeOp::claim))
        return relays_.message(peer, message);
    auto bytes = message.bytes;
    auto const token = take_value<PipeToken>(bytes);
    auto end = token ? take(*token) : UniqueFd();
    if (end) return relays_.add(peer, message.head.id, std::move(end));
    relays_.send(peer, PipeOp::end, message.head.id);
    relays_.send(peer, PipeOp::broken, message.head.id);
}

}  // namespace sinew::process
