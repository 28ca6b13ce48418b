// SPDX-License-Identifier: Apache-2.0
#include "k8s/http/http_loop.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <sinew/error.hpp>

#include "k8s/http/http_loop_state.hpp"
#include "k8s/http/transfer.hpp"
#include "src/base/text.hpp"

namespace sinew::k8s {
namespace {

// Keys of the epoll set: sockets of libcurl by their number, the rest counted from here.
constexpr std::uint64_t timer_key = std::uint64_t(1) << 32;
constexpr std::uint64_t callbacks_key = timer_key + 1;
constexpr std::uint64_t first_key = timer_key + 2;

[[noreturn]] void fail(char const* what) {
    int const error = errno;
    throw SystemError(text(what, " failed: ", std::strerror(error)), error);
}

UniqueFd check(int fd, char const* what) {
    if (fd < 0) fail(what);
    return UniqueFd(fd);
}

void start_curl() {
    static CURLcode const result = ::curl_global_init(CURL_GLOBAL_DEFAULT);
    if (result != CURLE_OK) throw BackendError("libcurl cannot be initialised", result);
}

}  // namespace

struct HttpLoop::State::Timer : Registration::Body {
    void cancel() noexcept override { work = nullptr; }
    Work work;
};

struct HttpLoop::State::Descriptor : Registration::Body {
    void cancel() noexcept override {
        if (!loop) return;
        ::epoll_ctl(loop->epoll.get(), EPOLL_CTL_DEL, fd, nullptr);
        auto* const from = std::exchange(loop, nullptr);
        from->descriptors.erase(key);
    }
    State* loop = nullptr;  // null: cancelled
    int fd = -1;
    std::uint64_t key = 0;
    bool is_callback = false;
    Work work;
};

HttpLoop::State::State()
    : epoll(check(::epoll_create1(EPOLL_CLOEXEC), "epoll_create1")),
      timer(check(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK), "timerfd_create")),
      callbacks_queued(check(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd")),
      next_key(first_key) {
    start_curl();
    // Edge-triggered: neither is ever read.
    epoll_event event{EPOLLIN | EPOLLET, {.u64 = timer_key}};
    if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, timer.get(), &event) != 0) fail("epoll_ctl");
    event.data.u64 = callbacks_key;
    if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, callbacks_queued.get(), &event) != 0)
        fail("epoll_ctl");
    multi = ::curl_multi_init();
    if (!multi) throw BackendError("libcurl has no memory for a multi handle", CURLE_OUT_OF_MEMORY);
    ::curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, &State::socket_changed);
    ::curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, this);
    ::curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, &State::timer_changed);
    ::curl_multi_setopt(multi, CURLMOPT_TIMERDATA, this);
    ::curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, 8L);  // kept for the next call
    ::curl_multi_setopt(multi, CURLMOPT_PIPELINING, CURLPIPE_NOTHING);
}

HttpLoop::State::~State() {
    for (auto const& [key, descriptor] : descriptors) descriptor->loop = nullptr;
    ::curl_multi_cleanup(multi);
}

int HttpLoop::State::socket_changed(CURL*, curl_socket_t socket, int what, void* self, void*) {
    auto const epoll = static_cast<State*>(self)->epoll.get();
    epoll_event event{0, {.u64 = std::uint64_t(socket)}};
    if (what == CURL_POLL_REMOVE) {
        ::epoll_ctl(epoll, EPOLL_CTL_DEL, socket, &event);
        return 0;
    }
    if (what & CURL_POLL_IN) event.events |= EPOLLIN;
    if (what & CURL_POLL_OUT) event.events |= EPOLLOUT;
    if (::epoll_ctl(epoll, EPOLL_CTL_MOD, socket, &event) == 0) return 0;
    return errno == ENOENT && ::epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &event) == 0 ? 0 : -1;
}

int HttpLoop::State::timer_changed(CURLM*, long milliseconds, void* self) {
    auto& due = static_cast<State*>(self)->curl_due;
    if (milliseconds < 0) due.reset();
    else due = Clock::now() + std::chrono::milliseconds(milliseconds);
    return 0;
}

void HttpLoop::State::add(Transfer& transfer, CURL* easy) {
    ::curl_easy_setopt(easy, CURLOPT_PRIVATE, &transfer);
    if (auto const code = ::curl_multi_add_handle(multi, easy); code != CURLM_OK)
        throw BackendError(text("libcurl: ", ::curl_multi_strerror(code)), code);
    arm();
}

void HttpLoop::State::remove(Transfer& transfer, CURL* easy) noexcept {
    ::curl_multi_remove_handle(multi, easy);
    std::replace(ended.begin(), ended.end(), &transfer, static_cast<Transfer*>(nullptr));
}

// The timerfd makes the epoll set readable at the next time of all.
void HttpLoop::State::arm() {
    std::optional<Clock::time_point> next = curl_due;
    if (!timers.empty() && (!next || timers.begin()->first < *next)) next = timers.begin()->first;
    if (next == armed) return;
    itimerspec spec{};
    if (next) {
        auto const nanos =
            std::max<std::int64_t>(1, std::chrono::nanoseconds(next->time_since_epoch()).count());
        spec.it_value = {nanos / 1'000'000'000, nanos % 1'000'000'000};
    }
    ::timerfd_settime(timer.get(), TFD_TIMER_ABSTIME, &spec, nullptr);
    armed = next;
}

std::shared_ptr<Registration::Body> HttpLoop::State::add_timer(Clock::time_point when, Work work) {
    auto made = std::make_shared<Timer>();
    made->work = std::move(work);
    timers.emplace(when, made);
    arm();
    return made;
}

std::shared_ptr<Registration::Body> HttpLoop::State::add_descriptor(int fd, std::uint32_t events,
                                                                    Work work, bool is_callback) {
    auto made = std::make_shared<Descriptor>();
    made->fd = fd;
    made->key = next_key++;
    made->is_callback = is_callback;
    made->work = std::move(work);
    epoll_event event{events, {.u64 = made->key}};
    if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
        int const error = errno;
        throw SystemError(text("descriptor ", fd, " cannot be watched: ", std::strerror(error)),
                          error);
    }
    made->loop = this;
    descriptors.emplace(made->key, made);
    return made;
}

void HttpLoop::State::handle(std::uint64_t key, std::uint32_t events) {
    if (key == timer_key || key == callbacks_key) return;
    if (key < timer_key) {
        int const mask = (events & EPOLLIN ? CURL_CSELECT_IN : 0) |
                         (events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                         (events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
        int running = 0;
        ::curl_multi_socket_action(multi, int(key), mask, &running);
        return;
    }
    auto const found = descriptors.find(key);
    if (found == descriptors.end()) return;
    auto const held = found->second;
    if (!held->is_callback) return held->work();
    // The descriptor was watched for one event; it is watched again after the callback.
    callbacks.push_back([held] {
        if (!held->loop) return;
        held->work();
        if (!held->loop) return;
        epoll_event event{EPOLLIN | EPOLLONESHOT, {.u64 = held->key}};
        ::epoll_ctl(held->loop->epoll.get(), EPOLL_CTL_MOD, held->fd, &event);
    });
}

void HttpLoop::State::run_timers() {
    auto const now = Clock::now();
    if (curl_due && *curl_due <= now) {
        curl_due.reset();
        int running = 0;
        ::curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running);
    }
    while (!timers.empty() && timers.begin()->first <= now) {
        auto const due = timers.begin()->second;
        timers.erase(timers.begin());
        if (auto const work = std::move(due->work)) work();
    }
}

void HttpLoop::State::end_transfers() {
    int left = 0;
    std::vector<CURLcode> codes;
    while (auto const* message = ::curl_multi_info_read(multi, &left)) {
        if (message->msg != CURLMSG_DONE) continue;
        Transfer* transfer = nullptr;
        ::curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
        ended.push_back(transfer);
        codes.push_back(message->data.result);
    }
    // One that ends may destroy others, which remove() takes out.
    for (std::size_t i = 0; i < codes.size(); ++i)
        if (ended[i]) ended[i]->end(codes[i]);
    ended.clear();
}

HttpLoop::HttpLoop() : state_(std::make_unique<State>()) {}
HttpLoop::~HttpLoop() = default;

Registration HttpLoop::at(Clock::time_point when, Work work) {
    return Registration(state_->add_timer(when, std::move(work)));
}

Registration HttpLoop::when_ready(int fd, std::uint32_t events, Work work) {
    return Registration(state_->add_descriptor(fd, events, std::move(work), false));
}

Registration HttpLoop::call_at(Clock::time_point when, Work callback) {
    struct Body : Registration::Body {
        void cancel() noexcept override { cancelled = true; }
        bool cancelled = false;
        Registration timer;
    };
    auto body = std::make_shared<Body>();
    body->timer = at(when, [this, callback = std::move(callback), weak = std::weak_ptr(body)] {
        call_soon([callback, weak] {
            if (auto const held = weak.lock(); held && !held->cancelled) callback();
        });
    });
    return Registration(std::move(body));
}

Registration HttpLoop::call_when_readable(int fd, Work callback) {
    return Registration(
        state_->add_descriptor(fd, EPOLLIN | EPOLLONESHOT, std::move(callback), true));
}

void HttpLoop::call_soon(Work callback) { state_->callbacks.push_back(std::move(callback)); }

void HttpLoop::turn(Clock::time_point until) {
    state_->arm();
    auto const left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    std::array<epoll_event, 64> events{};
    int const count =
        ::epoll_wait(state_->epoll.get(), events.data(), int(events.size()),
                     int(std::clamp<std::int64_t>(left, 0, std::int64_t(60) * 60 * 1000)));
    if (count < 0 && errno != EINTR) fail("epoll_wait");
    for (int i = 0; i < count; ++i) state_->handle(events[i].data.u64, events[i].events);
    state_->run_timers();
    state_->end_transfers();
    state_->arm();
}

bool HttpLoop::has_callbacks() const { return !state_->callbacks.empty(); }

void HttpLoop::deliver() {
    for (auto count = state_->callbacks.size(); count > 0; --count) {
        if (state_->callbacks.empty()) return;  // a callback delivered the rest
        auto const callback = std::move(state_->callbacks.front());
        state_->callbacks.pop_front();
        callback();
    }
}

int HttpLoop::fd() const { return state_->epoll.get(); }

void HttpLoop::signal_callbacks() {
    std::uint64_t const one = 1;
    if (has_callbacks()) std::ignore = ::write(state_->callbacks_queued.get(), &one, sizeof(one));
}

}  // namespace sinew::k8s
