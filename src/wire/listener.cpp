// SPDX-License-Identifier: Apache-2.0
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "src/base/log.hpp"
#include "src/base/text.hpp"
#include "src/wire/link.hpp"
#include "src/wire/link_handshake.hpp"
#include "src/wire/socket/sockets.hpp"

namespace sinew::wire {
namespace {

// A connection that has sent nothing for this long is closed if others wait.
constexpr auto patience_with_the_silent = std::chrono::milliseconds(250);
// A connection that is not authenticated by then is closed if others wait, even if it sends a byte
// now and then. Two round trips suffice to authenticate; a slower dialler tries again.
constexpr auto patience_with_the_slow = std::chrono::seconds(1);
constexpr auto pause_without_descriptors = std::chrono::milliseconds(100);

}  // namespace

struct Listener::State : std::enable_shared_from_this<State> {
    struct Pending {
        std::uint64_t number;
        std::shared_ptr<LinkHandshake> handshake;
        std::string host;  ///< of the peer; found out only if somebody is told of refusals
    };

    State(Loop& loop_, Address const& address_, Credentials const& credentials, Options options_,
          Accepted accepted_)
        : loop(loop_), address(address_), options(std::move(options_)),
          accepted(std::move(accepted_)), hello{protocol_version,
                                                Hello::mark_of(credentials.secret),
                                                credentials.self, options.link.max_frame},
          fd(listening_socket(address)) {
        if (address.family == Address::Family::unix_socket) return;
        tls.emplace(Role::acceptor, credentials.secret);
        address.port = bound_port(fd.get());
    }

    void listen();
    void accept_some();
    bool accept_one();
    bool make_room();
    void shake_hands(UniqueFd peer);
    void shaken(std::uint64_t number, LinkHandshake::Outcome outcome);
    void refuse(std::string const& why, std::string const& host = {});

    Loop& loop;
    Address address;
    Options options;
    Accepted accepted;
    Hello hello;
    UniqueFd fd;
    std::optional<TlsContext> tls;
    std::vector<Pending> unauthenticated;  ///< oldest first
    std::uint64_t next_number = 0;
    Loop::Handle readable, resumption;
    std::size_t refused = 0, unreported = 0;
    Clock::time_point reported{};
};

void Listener::State::listen() {
    if (!readable) readable = loop.readable(fd.get(), [this] { accept_some(); });
    resumption = {};
}

void Listener::State::accept_some() {
    auto const self = shared_from_this();  // the user may destroy the listener when called
    for (int i = 0; i < 64 && readable; ++i) {
        if (unauthenticated.size() >= options.max_unauthenticated && !make_room()) {
            // Further connections wait in the kernel's queue until one of these ends.
            readable = {};
            resumption = loop.after(patience_with_the_silent, [this] { listen(); });
            return;
        }
        if (!accept_one()) return;
    }
}

// Closes the oldest connection that is silent or slow, and returns whether there was one; its
// dialler may try again. Otherwise a few connections could block all others for a handshake's time
// limit.
bool Listener::State::make_room() {
    auto const now = Clock::now();
    auto const found =
        std::find_if(unauthenticated.begin(), unauthenticated.end(), [&](Pending const& each) {
            auto const age = now - each.handshake->began();
            return age >= patience_with_the_slow ||
                   (age >= patience_with_the_silent && each.handshake->silent());
        });
    if (found == unauthenticated.end()) return false;
    bool const silent = found->handshake->silent();
    auto const host = found->host;
    unauthenticated.erase(found);
    refuse(silent ? "sent nothing while others waited"
                  : "did not authenticate in time while others waited",
           host);
    return true;
}

// Returns false if no connection waits, or no descriptors are left.
bool Listener::State::accept_one() {
    UniqueFd peer(::accept4(fd.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (peer) {
        shake_hands(std::move(peer));
        return true;
    }
    int const error = errno;
    if (error == EAGAIN || error == EWOULDBLOCK) return false;
    if (error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM) {
        // The socket stays readable: trying again at once would use all of a core.
        readable = {};
        resumption = loop.after(pause_without_descriptors, [this] { listen(); });
        refuse(std::strerror(error));
        return false;
    }
    return true;  // that connection is gone already
}

void Listener::State::shake_hands(UniqueFd peer) {
    auto const host = options.refused ? peer_host(peer.get()) : std::string();
    try {
        std::unique_ptr<Stream> stream;
        if (tls) {
            set_tcp_options(peer.get());
            stream = tls->make_stream(std::move(peer));
        } else {
            auto const problem = check_peer_user(peer.get());
            if (!problem.empty()) return refuse(problem, host);
            stream = make_socket_stream(std::move(peer));
        }
        auto const number = next_number++;
        auto handshake = std::make_shared<LinkHandshake>(
            LinkHandshake::Setup{loop, Role::acceptor, hello, options.link}, std::move(stream),
            [this, number](LinkHandshake::Outcome outcome) { shaken(number, std::move(outcome)); });
        unauthenticated.push_back({number, handshake, host});
        handshake->start();
    } catch (std::bad_alloc const&) {
        refuse("out of memory", host);
    }
}

void Listener::State::shaken(std::uint64_t number, LinkHandshake::Outcome outcome) {
    auto const self = shared_from_this();
    std::string host;
    if (auto const found = std::ranges::find_if(unauthenticated,
                                                [&](auto& each) { return each.number == number; });
        found != unauthenticated.end()) {
        host = std::move(found->host);
        unauthenticated.erase(found);
    }
    if (resumption && unauthenticated.size() < options.max_unauthenticated) listen();
    if (auto* const refusal = std::get_if<Refusal>(&outcome)) return refuse(refusal->text, host);
    accepted(make_link(loop, std::get<HandshakeResult>(std::move(outcome)), options.link));
}

// Logs at most once a second, so that connecting processes cannot fill the log.
void Listener::State::refuse(std::string const& why, std::string const& host) {
    if (options.refused) options.refused(host, why);
    ++refused;
    ++unreported;
    auto const now = Clock::now();
    if (now - reported < std::chrono::seconds(1)) return;
    log_warning(
        text(address.text(), ": ", unreported, " connection(s) refused, the last because: ", why));
    reported = now;
    unreported = 0;
}

Listener::Listener(Loop& loop, Address const& address, Credentials credentials, Options options,
                   Accepted accepted)
    : state_(std::make_shared<State>(loop, address, credentials, std::move(options),
                                     std::move(accepted))) {
    state_->listen();
}

Listener::~Listener() {
    // The state may be in use further up the stack, so only its resources are released.
    state_->readable = {};
    state_->resumption = {};
    state_->unauthenticated.clear();
    { UniqueFd const listening = std::move(state_->fd); }
    if (state_->address.family == Address::Family::unix_socket)
        ::unlink(state_->address.host.c_str());
}

Address const& Listener::address() const { return state_->address; }
std::size_t Listener::refused() const { return state_->refused; }

}  // namespace sinew::wire
