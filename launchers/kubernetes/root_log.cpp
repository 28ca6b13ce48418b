// SPDX-License-Identifier: Apache-2.0
#include "launchers/kubernetes/root_log.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "k8s/api_error.hpp"
#include "launchers/kubernetes/objects/pod_template.hpp"

namespace sinew::launch::kubernetes {
namespace {

constexpr auto retry_delay = std::chrono::milliseconds(500);
// A line of output is at most 64 KiB, and 6 bytes of JSON may stand for one.
constexpr std::size_t longest_line = std::size_t{1} << 20;

// A time with all nine digits of its fraction, so that times can be compared as texts.
std::string with_nine_digits(std::string_view time) {
    auto const dot = time.find('.');
    auto const zone = time.find_first_of("Z+", std::min(dot, time.size()));
    if (dot == time.npos || zone == time.npos) return std::string(time);
    std::string digits(time.substr(dot + 1, zone - dot - 1));
    digits.resize(9, '0');
    return std::string(time.substr(0, dot + 1)) + digits + std::string(time.substr(zone));
}

}  // namespace

RootLog::RootLog(k8s::Client& client, std::string ns, std::function<void(std::string_view)> line,
                 std::function<void(std::exception_ptr)> failed)
    : client_(client), ns_(std::move(ns)), line_(std::move(line)), failed_(std::move(failed)) {}

void RootLog::follow(std::string const& pod, bool ended) {
    if (pod == pod_) {
        if (ended && !std::exchange(pod_ended_, true) && retry_) open();
        return;
    }
    stream_ = {};
    retry_ = {};
    pod_ = pod;
    pod_ended_ = ended;
    complete_ = false;
    partial_.clear();
    last_time_.clear();
    with_last_time_ = to_skip_ = 0;
    open();
}

void RootLog::open() {
    retry_ = {};
    opened_after_end_ = pod_ended_;
    to_skip_ = with_last_time_;
    stream_ = client_.follow_log(
        {.pod = pod_,
         .container = container_name,
         .ns = ns_,
         .follow = true,
         .timestamps = true,
         .since_time = last_time_},
        [this](std::string_view data) { on_data(data); },
        [this](std::exception_ptr failure) { on_end(failure); });
}

void RootLog::on_data(std::string_view data) {
    while (!data.empty()) {
        auto const end = data.find('\n');
        if (end == data.npos) {
            if (partial_.size() + data.size() <= longest_line) partial_ += data;
            return;
        }
        partial_ += data.substr(0, end);
        data.remove_prefix(end + 1);
        on_line(std::exchange(partial_, {}));
    }
}

// "2026-01-02T03:04:05.678901234Z text". Reopened, the log begins at or before the last time.
void RootLog::on_line(std::string_view line) {
    auto const blank = std::min(line.find(' '), line.size());
    auto const time = with_nine_digits(line.substr(0, blank));
    if (time == last_time_) {
        if (to_skip_ > 0) {
            --to_skip_;
            return;
        }
        ++with_last_time_;
    } else {
        if (time < last_time_) return;
        last_time_ = time;
        with_last_time_ = 1;
        to_skip_ = 0;
    }
    line_(line.substr(std::min(blank + 1, line.size())));
}

void RootLog::on_end(std::exception_ptr failure) {
    stream_ = {};
    // The line's end has been cut off with the connection, or it has none.
    auto const partial = std::exchange(partial_, {});
    if (failure == nullptr && opened_after_end_) {
        if (!partial.empty()) on_line(partial);
        complete_ = true;
        return;
    }
    if (failure != nullptr) {
        try {
            std::rethrow_exception(failure);
        } catch (k8s::ApiError const& error) {
            if (error.not_found()) {  // the pod has been removed
                complete_ = true;
                return;
            }
            if (error.forbidden() || error.unauthorized()) return failed_(failure);
        } catch (std::exception const&) {  // a connection was lost
        }
    }
    retry_ = client_.after(retry_delay, [this] { open(); });
}

}  // namespace sinew::launch::kubernetes
