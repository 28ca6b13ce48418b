// SPDX-License-Identifier: Apache-2.0
#include "launchers/kubernetes/root_log.hpp"

#include <chrono>
#include <utility>

#include "k8s/api_error.hpp"
#include "launchers/kubernetes/objects/pod_template.hpp"

namespace sinew::launch::kubernetes {
namespace {

using namespace std::chrono_literals;

constexpr auto retry_delay = 500ms;
// For the rest of the log of a pod that was replaced: its node may never answer again.
constexpr auto replaced_patience = 5s;

}  // namespace

RootLog::RootLog(k8s::Client& client, std::string ns, std::function<void(std::string_view)> line,
                 std::function<void(std::exception_ptr)> failed)
    : client_(client), ns_(std::move(ns)), line_(std::move(line)), failed_(std::move(failed)),
      lines_(line_) {}

void RootLog::follow(std::string const& pod, bool ended) {
    if (replaced(pod)) return;
    if (pod == next_) {
        next_ended_ = next_ended_ || ended;
    } else if (pod == pod_) {
        if (ended && !std::exchange(pod_ended_, true) && retry_) open();
    } else if (pod_.empty()) {
        begin(pod, ended);
    } else {
        replaced_.insert(next_.empty() ? pod_ : next_);
        next_ = pod;
        next_ended_ = ended;
        if (complete_) return begin_next();
        if (!std::exchange(pod_ended_, true) && retry_) open();
        if (!patience_) patience_ = client_.after(replaced_patience, [this] { begin_next(); });
    }
}

void RootLog::begin_next() { begin(std::exchange(next_, {}), next_ended_); }

void RootLog::begin(std::string const& pod, bool ended) {
    patience_ = {};
    pod_ = pod;
    pod_ended_ = ended;
    complete_ = false;
    lines_ = LogLines(line_);
    open();
}

void RootLog::open() {
    retry_ = {};
    opened_after_end_ = pod_ended_;
    lines_.reopen();
    stream_ = client_.follow_log(
        {.pod = pod_,
         .container = container_name,
         .ns = ns_,
         .follow = true,
         .timestamps = true,
         .since_time = lines_.since()},
        [this](std::string_view data) { lines_.add(data); },
        [this](std::exception_ptr failure) { on_end(failure); });
}

void RootLog::on_end(std::exception_ptr failure) {
    stream_ = {};
    bool over = failure == nullptr && opened_after_end_;
    if (failure != nullptr) {
        try {
            std::rethrow_exception(failure);
        } catch (k8s::ApiError const& error) {
            over = error.not_found();  // the pod has been removed
            if (error.forbidden() || error.unauthorized()) return failed_(failure);
        } catch (std::exception const&) {  // a connection was lost
        }
    }
    if (!over) {
        retry_ = client_.after(retry_delay, [this] { open(); });
        return;
    }
    if (failure == nullptr) lines_.end();
    complete_ = true;
    if (!next_.empty()) begin_next();
}

}  // namespace sinew::launch::kubernetes
