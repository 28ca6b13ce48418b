// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "k8s/call.hpp"
#include "k8s/client_options.hpp"
#include "k8s/config/configuration.hpp"
#include "k8s/http/registration.hpp"
#include "k8s/log_stream.hpp"
#include "k8s/watch.hpp"

namespace sinew::k8s {

/// A client of one API server: calls, watches and logs, all at once in one thread.
///
/// Not for several threads. Registrations, watches and log streams must be destroyed before it.
///
/// All I/O is done by `run_until`, `dispatch` and blocking calls. Callbacks are called by
/// `run_until` and `dispatch` only; what becomes ready during a blocking call waits for them. So a
/// callback may make blocking calls, and may destroy the registration it belongs to. A callback that
/// throws ends `run_until` or `dispatch`, which rethrows.
///
/// Failed requests are repeated, with growing and random delays, while the call's deadline allows:
/// after lost connections, the status 429, 500, 502, 503 and 504 (as Retry-After says) and a conflict
/// (409) of a call that names no version, such as one over a quota, and once with new credentials
/// after 401.
class Client {
public:
    explicit Client(Configuration configuration, ClientOptions options = {});
    Client(Client const&) = delete;
    Client& operator=(Client const&) = delete;
    ~Client();

    Configuration const& configuration() const;

    /// Sends the call and waits for its answer. Throws ApiError, Unavailable, Timeout, BackendError,
    /// UsageError.
    Json call(ApiCall const& request);

    /// Called once, with what call() would throw or (failure is null) the answer.
    using Done = std::function<void(std::exception_ptr failure, Json const& answer)>;
    /// Sends the call; destroying the registration gives it up, whether or not the server has
    /// carried it out.
    [[nodiscard]] Registration start(ApiCall request, Done done);

    /// Reports what there is, then what changes, until the watch is destroyed or fails.
    [[nodiscard]] Watch watch(Resource const& resource, Selection selection,
                              Watch::Callback callback, WatchOptions options = {});

    /// Reads a container's log. `ended` is called once, with null at the log's end.
    [[nodiscard]] LogStream follow_log(LogRequest request,
                                       std::function<void(std::string_view data)> data,
                                       std::function<void(std::exception_ptr failure)> ended);
    /// Waits for the whole log. Throws as call() does, and if it is longer than `max_answer`
    /// (`limit_bytes` and `tail_lines` shorten it).
    std::string log(LogRequest request);

    /// Reads the object, lets `change` make a merge patch with the resourceVersion read, and sends
    /// it; again from the start if somebody else was faster (409). `change` returns null to leave
    /// the object as it is. Throws as call() does.
    Json update(Resource const& resource, std::string const& name,
                std::function<Json(Json const& object)> const& change, std::string const& ns = {});

    /// Calls back when the descriptor, which stays the caller's, is readable: again and again as
    /// long as it is.
    [[nodiscard]] Registration readable(int fd, std::function<void()> callback);
    [[nodiscard]] Registration after(std::chrono::steady_clock::duration delay,
                                     std::function<void()> callback);

    /// Runs until `done`, which is asked at first and after each turn; false if the deadline came
    /// first.
    bool run_until(std::function<bool()> const& done,
                   std::chrono::steady_clock::time_point deadline);
    /// For use in another event loop: it becomes readable when dispatch() has something to do.
    int fd() const;
    /// Does what is ready, without waiting.
    void dispatch();

private:
    struct State;
    std::shared_ptr<State> state_;
};

}  // namespace sinew::k8s
