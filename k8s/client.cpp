// SPDX-License-Identifier: Apache-2.0
#include "k8s/client.hpp"

#include <nlohmann/json.hpp>
#include <optional>
#include <sinew/error.hpp>

#include "k8s/api_error.hpp"
#include "k8s/log_body.hpp"
#include "k8s/objects/json_access.hpp"
#include "k8s/requests/call_run.hpp"
#include "k8s/requests/session.hpp"
#include "k8s/watch_body.hpp"
#include "src/base/text.hpp"

namespace sinew::k8s {

struct Client::State {
    State(Configuration configuration, ClientOptions options)
        : session(std::move(configuration), std::move(options)) {}
    Session session;
};

Client::Client(Configuration configuration, ClientOptions options)
    : state_(std::make_unique<State>(std::move(configuration), std::move(options))) {}

Client::~Client() = default;

Configuration const& Client::configuration() const { return state_->session.configuration; }

Json Client::call(ApiCall const& request) {
    auto& session = state_->session;
    bool done = false;
    std::exception_ptr failure;
    Json answer;
    CallRun run(session, request, [&](std::exception_ptr problem, Json found) {
        done = true;
        failure = std::move(problem);
        answer = std::move(found);
    });
    while (!done) {
        if (session.options.interrupted && session.options.interrupted()) {
            run.cancel();
            session.loop.signal_callbacks();
            throw Unavailable("interrupted");
        }
        session.loop.turn(Session::Clock::now() + std::chrono::seconds(1));
    }
    session.loop.signal_callbacks();
    if (failure) std::rethrow_exception(failure);
    return answer;
}

Registration Client::start(ApiCall request, Done done) {
    struct Body : Registration::Body {
        void cancel() noexcept override {
            done = nullptr;
            if (run) run->cancel();
        }
        Done done;
        std::shared_ptr<CallRun> run;
    };
    auto body = std::make_shared<Body>();
    body->done = std::move(done);
    auto& loop = state_->session.loop;
    body->run = std::make_shared<CallRun>(
        state_->session, std::move(request),
        [&loop, weak = std::weak_ptr(body)](std::exception_ptr failure, Json answer) {
            loop.call_soon([weak, failure, held = std::make_shared<Json>(std::move(answer))] {
                auto const waiting = weak.lock();
                if (auto const call = waiting ? std::exchange(waiting->done, nullptr) : nullptr)
                    call(failure, *held);
            });
        });
    return Registration(std::move(body));
}

Watch Client::watch(Resource const& resource, Selection selection, Watch::Callback callback,
                    WatchOptions options) {
    auto body = std::make_shared<Watch::Body>(state_->session, resource, std::move(selection),
                                              std::move(callback), options);
    body->start();
    return Watch(std::move(body));
}

LogStream Client::follow_log(LogRequest request, std::function<void(std::string_view)> data,
                             std::function<void(std::exception_ptr)> ended) {
    auto body = std::make_shared<LogStream::Body>(state_->session, std::move(request),
                                                  std::move(data), std::move(ended));
    body->start();
    return LogStream(std::move(body));
}

std::string Client::log(LogRequest request) {
    request.follow = false;
    auto reading = get(pods, request.pod, request.ns);
    reading.subresource = "log";
    reading.query = log_query(request);
    reading.text_answer = true;
    return string_of(call(reading));
}

Json Client::update(Resource const& resource, std::string const& name,
                    std::function<Json(Json const&)> const& change, std::string const& ns) {
    constexpr int most = 10;
    for (int attempt = 1;; ++attempt) {
        auto const object = call(get(resource, name, ns));
        auto changes = change(object);
        if (changes.is_null()) return object;
        changes["metadata"]["resourceVersion"] = string_in(object, "metadata", "resourceVersion");
        try {
            return call(patch(resource, name, PatchType::merge, changes, ns));
        } catch (ApiError const& error) {
            if (!error.conflict() || attempt == most) throw;
        }
    }
}

Registration Client::readable(int fd, std::function<void()> callback) {
    return state_->session.loop.call_when_readable(fd, std::move(callback));
}

Registration Client::after(std::chrono::steady_clock::duration delay,
                           std::function<void()> callback) {
    return state_->session.loop.call_at(Session::Clock::now() + delay, std::move(callback));
}

bool Client::run_until(std::function<bool()> const& done,
                       std::chrono::steady_clock::time_point deadline) {
    auto& loop = state_->session.loop;
    while (!done()) {
        auto const now = Session::Clock::now();
        loop.turn(loop.has_callbacks() ? now : deadline);
        loop.deliver();
        if (Session::Clock::now() >= deadline) return done();
    }
    return true;
}

int Client::fd() const { return state_->session.loop.fd(); }

void Client::dispatch() {
    auto& loop = state_->session.loop;
    loop.turn(Session::Clock::now());
    loop.deliver();
    loop.signal_callbacks();
}

}  // namespace sinew::k8s
