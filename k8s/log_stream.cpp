// SPDX-License-Identifier: Apache-2.0
#include "k8s/log_stream.hpp"

#include <sinew/error.hpp>
#include <utility>

#include "k8s/log_body.hpp"
#include "src/base/text.hpp"

namespace sinew::k8s {
namespace {

constexpr std::size_t most_buffered = std::size_t(256) << 10;

}  // namespace

LogStream::LogStream() = default;
LogStream::LogStream(std::shared_ptr<Body> body) : body_(std::move(body)) {}
LogStream::LogStream(LogStream&&) noexcept = default;
LogStream& LogStream::operator=(LogStream&& other) noexcept {
    std::swap(body_, other.body_);
    return *this;
}
LogStream::~LogStream() {
    if (body_) body_->cancel();
}
void LogStream::pause() { body_->pause(true); }
void LogStream::resume() { body_->pause(false); }

Query log_query(LogRequest const& request) {
    Query query;
    if (!request.container.empty()) query.emplace_back("container", request.container);
    if (request.follow) query.emplace_back("follow", "true");
    if (request.previous) query.emplace_back("previous", "true");
    if (request.timestamps) query.emplace_back("timestamps", "true");
    if (!request.since_time.empty()) query.emplace_back("sinceTime", request.since_time);
    if (request.tail_lines) query.emplace_back("tailLines", std::to_string(*request.tail_lines));
    if (request.limit_bytes) query.emplace_back("limitBytes", std::to_string(*request.limit_bytes));
    return query;
}

LogStream::Body::Body(Session& session, LogRequest request, Data data, Ended ended)
    : session_(session),
      request_(std::move(request)), subject_{"read the log of", pods,
                                             session.ns_or_default(request_.ns), request_.pod},
      on_data_(std::move(data)), on_end_(std::move(ended)) {
    if (request_.pod.empty()) throw UsageError("cannot read the log of a pod without a name");
    contact_ = Session::Clock::now();
    deadline_ = contact_ + session.options.call_timeout;
}

void LogStream::Body::start() {
    HttpRequest http;
    http.target = target_of(pods, subject_.ns, request_.pod, "log", log_query(request_));
    http.connect_timeout = session_.options.connect_timeout;
    contact_ = Session::Clock::now();
    ++attempts_;
    exchange_ = std::make_unique<Exchange>(session_, std::move(http), *this);
    // One that is followed may be silent for days; keep-alives of TCP find out if the server is gone.
    if (!request_.follow) check_silence();
}

void LogStream::Body::check_silence() {
    auto const now = Session::Clock::now();
    auto const due = contact_ + session_.options.attempt_timeout;
    if (now >= due && !waits_) {
        exchange_.reset();
        return finish(std::make_exception_ptr(Timeout(text(
            "cannot ", describe(subject_), ": the server ", session_.configuration.cluster.server,
            " has been silent for ", session_.options.attempt_timeout.count() / 1000, " s"))));
    }
    silence_ = session_.loop.at(std::max(due, now + std::chrono::milliseconds(100)),
                                [this] { check_silence(); });
}

void LogStream::Body::cancel() noexcept {
    on_data_ = nullptr;
    on_end_ = nullptr;
    retry_ = Registration();
    silence_ = Registration();
    exchange_.reset();
}

void LogStream::Body::pause(bool on) {
    paused_ = on;
    if (!on && (!buffer_.empty() || over_ || waits_)) deliver_soon();
}

TransferListener::Take LogStream::Body::data(std::string_view bytes) {
    contact_ = Session::Clock::now();
    if (!buffer_.empty() && buffer_.size() + bytes.size() > most_buffered) {
        waits_ = true;
        return TransferListener::Take::postpone;
    }
    any_ = true;
    buffer_ += bytes;
    if (!paused_) deliver_soon();
    return TransferListener::Take::all;
}

void LogStream::Body::ended(ExchangeEnd end) {
    exchange_.reset();
    silence_ = Registration();
    if (end.succeeded()) return finish(nullptr);
    auto const failure = failure_of(session_, subject_, end);
    auto const delay = failure.retry_after ? Session::Clock::duration(*failure.retry_after)
                                           : session_.delay(attempts_);
    auto const next = Session::Clock::now() + delay;
    if (any_ || !failure.retry || next >= deadline_ || (!session_.answered && attempts_ >= 3))
        return finish(failure.error);
    retry_ = session_.loop.at(next, [this] { start(); });
}

void LogStream::Body::finish(std::exception_ptr failure) {
    over_ = true;
    failure_ = std::move(failure);
    deliver_soon();
}

void LogStream::Body::deliver_soon() {
    if (std::exchange(delivery_queued_, true)) return;
    session_.loop.call_soon([self = shared_from_this()] {
        self->delivery_queued_ = false;
        self->deliver();
    });
}

void LogStream::Body::deliver() {
    if (paused_ || !on_data_) return;
    if (!buffer_.empty()) {
        auto const bytes = std::exchange(buffer_, {});
        if (over_) deliver_soon();  // the end comes after it, also if the callback throws
        auto const callback = on_data_;
        callback(bytes);
        if (exchange_ && std::exchange(waits_, false)) exchange_->resume();
        return;
    }
    if (exchange_ && std::exchange(waits_, false)) exchange_->resume();
    if (!over_) return;
    on_data_ = nullptr;
    if (auto const end = std::exchange(on_end_, nullptr)) end(failure_);
}

}  // namespace sinew::k8s
