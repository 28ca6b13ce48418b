// SPDX-License-Identifier: Apache-2.0
#include "src/wire/socket/resolver.hpp"

#include <netdb.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "src/base/system/signals_blocked.hpp"
#include "src/wire/loop/loop_access.hpp"

namespace sinew::wire {
namespace {

Resolved ask(std::string const& host, std::uint16_t port) {
    addrinfo wanted{};
    wanted.ai_family = AF_UNSPEC;
    wanted.ai_socktype = SOCK_STREAM;
    wanted.ai_flags = AI_ADDRCONFIG;
    addrinfo* found = nullptr;
    int const error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found);
    if (error == EAI_SYSTEM) return {{}, std::strerror(errno)};
    if (error != 0) return {{}, ::gai_strerror(error)};
    std::unique_ptr<addrinfo, void (*)(addrinfo*)> const owner(found, ::freeaddrinfo);
    Resolved result;
    for (auto const* each = found; each != nullptr; each = each->ai_next) {
        SocketAddress address;
        address.length = each->ai_addrlen;
        std::memcpy(&address.storage, each->ai_addr, each->ai_addrlen);
        result.addresses.push_back(address);
    }
    return result;
}

/// Lives as long as its thread, which may outlive the loop.
class Query final : public Loop::Handle::Body, public std::enable_shared_from_this<Query> {
public:
    Query(Loop& loop, std::function<void(Resolved)> done) : loop_(&loop), done_(std::move(done)) {}
    void cancel() noexcept override {
        done_ = nullptr;
        std::lock_guard const lock(mutex_);
        loop_ = nullptr;
    }
    /// Called by the thread.
    void answer(Resolved result) {
        std::lock_guard const lock(mutex_);
        if (loop_ == nullptr) return;
        loop_->post([self = shared_from_this(), result = std::move(result)]() mutable {
            if (auto const done = std::exchange(self->done_, nullptr)) done(std::move(result));
        });
    }

private:
    std::mutex mutex_;
    Loop* loop_;                          ///< null: cancelled
    std::function<void(Resolved)> done_;  ///< for the loop's own thread
};

}  // namespace

Loop::Handle resolve(Loop& loop, std::string host, std::uint16_t port,
                     std::function<void(Resolved)> done) {
    auto query = std::make_shared<Query>(loop, std::move(done));
    try {
        SignalsBlocked const blocked;
        std::thread([query, host = std::move(host), port] {
            query->answer(ask(host, port));
        }).detach();
    } catch (std::system_error const& error) {
        query->answer(
            {{}, std::string("the thread that looks names up cannot be started: ") + error.what()});
    }
    return Loop::Handle(std::move(query));
}

}  // namespace sinew::wire
