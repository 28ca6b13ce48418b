// SPDX-License-Identifier: Apache-2.0
#include "k8s/watch.hpp"

#include <sinew/error.hpp>
#include <utility>

#include "k8s/api_error.hpp"
#include "k8s/objects/json_access.hpp"
#include "k8s/watch_body.hpp"
#include "src/base/text.hpp"

namespace sinew::k8s {
namespace {

constexpr std::size_t most_queued = std::size_t(16) << 20;
constexpr std::chrono::seconds margin(30);  // that a server may be late to end its request

// Before the first list is complete: whether another attempt makes no sense.
bool is_for_good(std::exception_ptr const& failure) {
    try {
        std::rethrow_exception(failure);
    } catch (ApiError const& error) {
        return error.code() >= 400 && error.code() < 500 && error.code() != 429 && !error.gone();
    } catch (UsageError const&) {
        return true;
    } catch (...) {
        return false;
    }
}

}  // namespace

Watch::Watch() = default;
Watch::Watch(std::shared_ptr<Body> body) : body_(std::move(body)) {}
Watch::Watch(Watch&&) noexcept = default;
Watch& Watch::operator=(Watch&& other) noexcept {
    std::swap(body_, other.body_);
    return *this;
}
Watch::~Watch() {
    if (body_) body_->cancel();
}
bool Watch::synced() const { return body_ && body_->synced(); }
std::chrono::steady_clock::duration Watch::disconnected_for() const {
    return body_ ? body_->disconnected_for() : std::chrono::steady_clock::duration();
}

Watch::Body::Body(Session& session, Resource const& resource, Selection selection,
                  Callback callback, WatchOptions options)
    : session_(session), resource_(resource),
      selection_(std::move(selection)), subject_{"watch", resource,
                                                 session.ns_or_default(selection_.ns), ""},
      callback_(std::move(callback)), options_(options) {}

void Watch::Body::start() {
    contact_ = started_ = Session::Clock::now();
    sync_deadline_ = started_ + options_.sync_timeout;
    list();
}

void Watch::Body::cancel() noexcept {
    callback_ = nullptr;
    retry_ = Registration();
    silence_ = Registration();
    if (list_) list_->cancel();
    list_.reset();
    exchange_.reset();
}

Session::Clock::duration Watch::Body::disconnected_for() const {
    return connected_ || over_ ? Session::Clock::duration() : Session::Clock::now() - contact_;
}

void Watch::Body::list() {
    must_list_ = false;
    auto call = k8s::list(resource_, selection_);
    call.timeout = options_.sync_timeout;
    if (!synced_)
        call.timeout = std::max(
            std::chrono::milliseconds(1),
            std::chrono::ceil<std::chrono::milliseconds>(sync_deadline_ - Session::Clock::now()));
    list_ = std::make_shared<CallRun>(
        session_, std::move(call),
        [this](std::exception_ptr failure, Json answer) { listed(failure, std::move(answer)); });
}

void Watch::Body::listed(std::exception_ptr failure, Json answer) {
    auto const held = std::exchange(list_, nullptr);  // it calls this
    if (failure) return broken(failure, is_for_good(failure));
    version_ = string_in(answer, "metadata", "resourceVersion");
    if (version_.empty())
        return broken(wrong_answer(session_, subject_, "a list without resourceVersion"), false);
    if (!known_.replace(std::move(answer["items"])))
        return broken(wrong_answer(session_, subject_, "a list with an item without name"), false);
    contact_ = Session::Clock::now();
    connected_ = true;
    attempts_ = 0;
    if (!std::exchange(synced_, true)) known_.events.push_back({WatchEvent::Type::synced});
    if (!known_.events.empty()) deliver_soon();
    follow();
}

void Watch::Body::follow() {
    std::uniform_real_distribution<double> spread(1.0, 1.25);  // not all watches end at once
    asked_ = std::chrono::seconds(std::max<std::int64_t>(
        1, std::int64_t(double(options_.request_timeout.count()) * spread(session_.random))));
    Query query{{"watch", "1"},
                {"allowWatchBookmarks", "true"},
                {"resourceVersion", version_},
                {"timeoutSeconds", std::to_string(asked_.count())}};
    if (!selection_.label_selector.empty())
        query.emplace_back("labelSelector", selection_.label_selector);
    if (!selection_.field_selector.empty())
        query.emplace_back("fieldSelector", selection_.field_selector);
    HttpRequest request;
    request.target = target_of(resource_, subject_.ns, "", "", query);
    request.connect_timeout = session_.options.connect_timeout;
    lines_ = WatchLines();
    problem_.clear();
    error_ = nullptr;
    waits_ = progress_ = false;
    started_ = Session::Clock::now();
    exchange_ = std::make_unique<Exchange>(session_, std::move(request), *this);
    // The headers come at once; then silence is allowed until the request ends.
    silence_ =
        session_.loop.at(started_ + session_.options.attempt_timeout, [this] { check_silence(); });
}

void Watch::Body::check_silence() {
    auto const begun = connected_ && contact_ >= started_;
    auto const limit = begun ? asked_ + margin : session_.options.attempt_timeout;
    auto const due = (begun ? contact_ : started_) + limit;
    auto const now = Session::Clock::now();
    if (now < due || waits_) {
        silence_ = session_.loop.at(std::max(due, now + std::chrono::seconds(1)),
                                    [this] { check_silence(); });
        return;
    }
    exchange_.reset();
    broken(std::make_exception_ptr(Unavailable(
               text("cannot ", describe(subject_), ": the server ",
                    session_.configuration.cluster.server, " has been silent for ",
                    std::chrono::duration_cast<std::chrono::seconds>(limit).count(), " s"))),
           false);
}

void Watch::Body::began() {
    connected_ = watched_ = true;
    contact_ = Session::Clock::now();
}

TransferListener::Take Watch::Body::data(std::string_view bytes) {
    contact_ = Session::Clock::now();
    if (queued_bytes_ > most_queued) {
        waits_ = true;
        return TransferListener::Take::postpone;
    }
    problem_ = lines_.read(bytes, [this](WatchLines::Line const& line) { return take(line); });
    if (!known_.events.empty()) deliver_soon();
    return problem_.empty() && !error_ && !must_list_ ? TransferListener::Take::all
                                                      : TransferListener::Take::refuse;
}

bool Watch::Body::take(WatchLines::Line const& line) {
    using Type = WatchLines::Line::Type;
    if (line.type == Type::error) {
        int const code = int_of(member(line.object, "code"));
        must_list_ = code == 410 || string_in(line.object, "reason") == "Expired";
        if (!must_list_) error_ = status_error(session_, subject_, code, line.object.dump());
        return false;
    }
    auto const version = string_in(line.object, "metadata", "resourceVersion");
    bool const good =
        !version.empty() &&
        (line.type == Type::bookmark ||
         (line.type == Type::deleted ? known_.erase(line.object) : known_.put(line.object)));
    if (!good) {
        error_ =
            wrong_answer(session_, subject_, "an event with an object without name or version");
        return false;
    }
    progress_ = true;
    version_ = version;
    queued_bytes_ += line.bytes;
    return true;
}

void Watch::Body::ended(ExchangeEnd end) {
    exchange_.reset();
    silence_ = Registration();
    if (must_list_ || end.transfer.status == 410) {
        must_list_ = true;
        return broken(nullptr, false);
    }
    if (!problem_.empty() || error_) {
        // What was sent meanwhile is unknown.
        must_list_ = !progress_;
        return broken(error_ ? error_ : wrong_answer(session_, subject_, problem_), false);
    }
    if (end.succeeded()) return broken(nullptr, false);
    auto const failure = failure_of(session_, subject_, end);
    if (failure.status == 403 && !watched_) return fail(failure.error);
    broken(failure.error, false, failure.retry_after);
}

// The request has ended, as it must some time, or something is wrong: what comes next, and when.
void Watch::Body::broken(std::exception_ptr failure, bool for_good,
                         std::optional<std::chrono::seconds> wait) {
    silence_ = Registration();
    auto const now = Session::Clock::now();
    if (failure) connected_ = false;
    if (failure && !synced_ && (for_good || now >= sync_deadline_)) return fail(failure);
    if (failure && options_.give_up_after.count() > 0 && now - contact_ > options_.give_up_after)
        return fail(failure);
    // A request that lived for a while and ended in order is followed by the next at once.
    bool const ordinary = !failure && (now - started_ > std::chrono::seconds(2) || progress_);
    attempts_ = ordinary ? 0 : attempts_ + 1;
    auto delay = ordinary ? Session::Clock::duration() : session_.delay(attempts_);
    if (wait) delay = std::max<Session::Clock::duration>(delay, *wait);
    retry_ = session_.loop.at(now + delay, [this] {
        if (must_list_ || !synced_) list();
        else follow();
    });
}

void Watch::Body::fail(std::exception_ptr failure) {
    over_ = true;
    known_.events.push_back({WatchEvent::Type::failed, nullptr, std::move(failure)});
    deliver_soon();
}

void Watch::Body::deliver_soon() {
    if (std::exchange(delivery_queued_, true)) return;
    session_.loop.call_soon([self = shared_from_this()] {
        self->delivery_queued_ = false;
        self->deliver();
    });
}

void Watch::Body::deliver() {
    struct Again {  // if a callback throws
        ~Again() {
            if (body.callback_ && !body.known_.events.empty()) body.deliver_soon();
        }
        Body& body;
    } const again{*this};
    while (callback_ && !known_.events.empty()) {
        auto const event = std::move(known_.events.front());
        known_.events.pop_front();
        auto const callback = callback_;  // which may destroy the watch
        callback(event);
    }
    queued_bytes_ = 0;
    if (callback_ && exchange_ && std::exchange(waits_, false)) exchange_->resume();
}

}  // namespace sinew::k8s
