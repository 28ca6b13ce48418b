// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "k8s/call.hpp"
#include "k8s/requests/exchange.hpp"
#include "k8s/requests/failure.hpp"

namespace sinew::k8s {

/// A call that is under way: attempts, pages, and what to do if an answer was lost.
class CallRun final : public Registration::Body, public ExchangeListener {
public:
    /// Called within HttpLoop::turn, once. The run may be destroyed.
    using Done = std::function<void(std::exception_ptr failure, Json answer)>;

    /// Throws UsageError: the call cannot be sent at all.
    CallRun(Session& session, ApiCall call, Done done);
    void cancel() noexcept override;

private:
    // Who made the object of the name that is there already: read it, or, where the user may not read
    // (secrets), patch nothing, which answers with the object.
    enum class Step { call, verify_by_get, verify_by_patch };

    void attempt();
    HttpRequest request() const;
    TransferListener::Take data(std::string_view bytes) override;
    void ended(ExchangeEnd end) override;
    void succeeded();
    void failed(Failure failure);
    void add_page(Json page);
    void verified(Json const& object);
    void finish(std::exception_ptr failure, Json answer);

    Session& session_;
    ApiCall call_;
    Subject subject_;
    Done done_;
    Session::Clock::time_point began_, deadline_;
    std::unique_ptr<Exchange> exchange_;
    Registration timer_, limit_;
    Step step_ = Step::call;
    int attempts_ = 0, server_errors_ = 0;
    bool maybe_done_ = false;
    std::string body_;
    std::exception_ptr last_failure_, exists_;
    // Of a list:
    Json items_;
    std::string next_page_;
    std::size_t list_bytes_ = 0;
    bool paged_ = true;
};

}  // namespace sinew::k8s
