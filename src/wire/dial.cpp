// SPDX-License-Identifier: Apache-2.0
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iomanip>
#include <new>
#include <optional>
#include <random>
#include <sinew/error.hpp>
#include <utility>
#include <vector>

#include "src/base/text.hpp"
#include "src/wire/link.hpp"
#include "src/wire/link_handshake.hpp"
#include "src/wire/loop/loop_access.hpp"
#include "src/wire/socket/resolver.hpp"
#include "src/wire/socket/sockets.hpp"

namespace sinew::wire {
namespace {

constexpr Clock::duration first_pause = std::chrono::milliseconds(5);
constexpr Clock::duration longest_pause = std::chrono::milliseconds(250);

/// One call of `dial`: resolves, connects and authenticates; starts again after a temporary
/// failure.
class Dial : public Loop::Handle::Body, public std::enable_shared_from_this<Dial> {
public:
    Dial(Loop& loop, Address const& address, Credentials const& credentials,
         LinkOptions const& options, std::function<void(Dialled)> done)
        : loop_(loop),
          address_(address), hello_{protocol_version, Hello::mark_of(credentials.secret),
                                    credentials.self, options.max_frame},
          expected_origin_(credentials.expected_origin), options_(options), done_(std::move(done)) {
        if (address.family == Address::Family::tcp) tls_.emplace(Role::dialler, credentials.secret);
    }

    void start(Clock::duration patience) {
        began_ = Clock::now();
        patience_ = patience;
        timer_ = loop_.after(Clock::duration::zero(), [this] { attempt(); });
        over_ = loop_.after(patience, [this] { give_up(); });
    }
    void cancel() noexcept override {
        done_ = nullptr;
        stop();
    }

private:
    void attempt();
    void ask_for_addresses();
    void try_next();
    void connect(SocketAddress const& where);
    void connected();
    void shaken(LinkHandshake::Outcome outcome);
    void failed(std::string why);
    void give_up();
    void finish(Dialled outcome);
    void stop() noexcept;

    Loop& loop_;
    Address const address_;
    Hello const hello_;
    std::uint64_t const expected_origin_;
    LinkOptions const options_;
    std::function<void(Dialled)> done_;
    std::optional<TlsContext> tls_;
    std::vector<SocketAddress> where_;  ///< still to be tried in this attempt
    UniqueFd fd_;
    std::shared_ptr<LinkHandshake> handshake_;
    Loop::Handle timer_, over_, writable_, resolving_;
    Clock::time_point began_{};
    Clock::duration patience_{}, pause_ = first_pause;
    int attempts_ = 0;
    bool accepted_ = false;  ///< some connection was, though perhaps not authenticated
    std::string last_failure_ = "no answer";
    // Spreads the attempts of thousands of processes that wait for the same listener.
    std::minstd_rand random_{std::random_device{}()};
};

void Dial::attempt() {
    try {
        where_.clear();
        if (address_.family == Address::Family::unix_socket) {
            where_.push_back(unix_address(address_.host));
        } else if (auto const numeric = numeric_address(address_)) {
            where_.push_back(*numeric);
        } else {
            return ask_for_addresses();
        }
        try_next();
    } catch (UsageError const& error) {
        finish({nullptr, error.what()});
    }
}

void Dial::ask_for_addresses() {
    resolving_ = resolve(loop_, address_.host, address_.port, [this](Resolved result) {
        // A name may become known later, such as that of a container.
        if (!result.problem.empty()) return failed("unknown host: " + result.problem);
        where_ = std::move(result.addresses);
        std::ranges::reverse(where_);
        try_next();
    });
}

void Dial::try_next() {
    if (where_.empty()) return failed("unknown host: it has no address");
    SocketAddress const where = where_.back();
    where_.pop_back();
    try {
        connect(where);
    } catch (SystemError const& error) {  // temporary, such as too few descriptors
        failed(error.what());
    }
}

void Dial::connect(SocketAddress const& where) {
    ++attempts_;
    fd_ = new_socket(where.get()->sa_family);
    if (tls_) set_tcp_options(fd_.get());
    if (::connect(fd_.get(), where.get(), where.length) == 0) return connected();
    if (errno != EINPROGRESS) return failed(std::strerror(errno));
    writable_ = loop_.writable(fd_.get(), [this] {
        auto const self = shared_from_this();
        writable_ = {};
        int error = 0;
        socklen_t length = sizeof error;
        ::getsockopt(fd_.get(), SOL_SOCKET, SO_ERROR, &error, &length);
        if (error != 0) return failed(std::strerror(error));
        connected();
    });
}

void Dial::connected() {
    accepted_ = true;
    try {
        std::unique_ptr<Stream> stream;
        if (tls_) {
            stream = tls_->make_stream(std::move(fd_));
        } else {
            auto const problem = check_peer_user(fd_.get());
            if (!problem.empty()) return finish({nullptr, address_.text() + ": " + problem});
            stream = make_socket_stream(std::move(fd_));
        }
        handshake_ = std::make_shared<LinkHandshake>(
            LinkHandshake::Setup{loop_, Role::dialler, hello_, options_, expected_origin_},
            std::move(stream),
            [this](LinkHandshake::Outcome outcome) { shaken(std::move(outcome)); });
        handshake_->start();
    } catch (std::bad_alloc const&) {
        failed("out of memory");
    }
}

void Dial::shaken(LinkHandshake::Outcome outcome) {
    auto const self = shared_from_this();
    handshake_ = nullptr;
    if (auto* const refusal = std::get_if<Refusal>(&outcome)) {
        if (!refusal->final) return failed(refusal->text);
        return finish({nullptr, address_.text() + ": " + refusal->text});
    }
    finish({make_link(loop_, std::get<HandshakeResult>(std::move(outcome)), options_), {}});
}

void Dial::failed(std::string why) {
    last_failure_ = std::move(why);
    { UniqueFd const unused = std::move(fd_); }
    // The other addresses of a name are tried without a pause.
    Clock::duration pause{};
    if (where_.empty()) {
        pause = pause_ / 2 + pause_ / 2 * (random_() % 256) / 256;
        pause_ = std::min(2 * pause_, longest_pause);
    }
    bool const again = where_.empty();
    timer_ = loop_.after(pause, [this, again] { again ? attempt() : try_next(); });
}

void Dial::give_up() {
    auto const seconds = std::chrono::duration<double>(Clock::now() - began_).count();
    finish({.link = nullptr,
            .error = text(address_.text(), ": not reached within ", std::setprecision(3), seconds,
                          " s (", last_failure_, "). Is the other end running?"),
            .unreachable = !accepted_});
}

void Dial::stop() noexcept {
    timer_ = {};
    over_ = {};
    writable_ = {};
    resolving_ = {};
    handshake_ = nullptr;
    UniqueFd const unused = std::move(fd_);
}

void Dial::finish(Dialled outcome) {
    auto const self = shared_from_this();
    stop();
    outcome.attempts = attempts_;
    if (auto const done = std::exchange(done_, nullptr)) done(std::move(outcome));
}

}  // namespace

Loop::Handle dial(Loop& loop, Address const& address, Credentials const& credentials,
                  LinkOptions const& options, Clock::duration patience,
                  std::function<void(Dialled)> done) {
    auto body = std::make_shared<Dial>(loop, address, credentials, options, std::move(done));
    body->start(patience);
    return Loop::Handle(std::move(body));
}

}  // namespace sinew::wire
