// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <curl/curl.h>

#include <deque>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "k8s/http/http_loop.hpp"
#include "src/base/system/unique_fd.hpp"

namespace sinew::k8s {

/// For the sources of this folder only.
struct HttpLoop::State {
    struct Timer;
    struct Descriptor;

    State();
    ~State();

    void add(Transfer& transfer, CURL* easy);
    void remove(Transfer& transfer, CURL* easy) noexcept;

    void arm();
    void handle(std::uint64_t key, std::uint32_t events);
    void run_timers();
    void end_transfers();
    std::shared_ptr<Registration::Body> add_descriptor(int fd, std::uint32_t events, Work work,
                                                       bool is_callback);
    std::shared_ptr<Registration::Body> add_timer(Clock::time_point when, Work work);

    static int socket_changed(CURL*, curl_socket_t socket, int what, void* self, void*);
    static int timer_changed(CURLM*, long milliseconds, void* self);

    UniqueFd epoll, timer, callbacks_queued;
    CURLM* multi = nullptr;
    std::optional<Clock::time_point> curl_due, armed;
    std::multimap<Clock::time_point, std::shared_ptr<Timer>> timers;
    std::unordered_map<std::uint64_t, std::shared_ptr<Descriptor>> descriptors;
    std::uint64_t next_key = 0;
    std::vector<Transfer*> ended;
    std::deque<Work> callbacks;
};

}  // namespace sinew::k8s
