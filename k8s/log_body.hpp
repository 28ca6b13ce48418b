// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "k8s/call.hpp"
#include "k8s/log_stream.hpp"
#include "k8s/requests/exchange.hpp"
#include "k8s/requests/failure.hpp"

namespace sinew::k8s {

/// The path's query of a log.
Query log_query(LogRequest const& request);

class LogStream::Body final : public ExchangeListener,
                              public std::enable_shared_from_this<LogStream::Body> {
public:
    using Data = std::function<void(std::string_view)>;
    using Ended = std::function<void(std::exception_ptr)>;

    Body(Session& session, LogRequest request, Data data, Ended ended);
    void start();
    void cancel() noexcept;
    void pause(bool on);

private:
    void began() override { contact_ = Session::Clock::now(); }
    TransferListener::Take data(std::string_view bytes) override;
    void ended(ExchangeEnd end) override;
    void check_silence();
    void finish(std::exception_ptr failure);
    void deliver_soon();
    void deliver();

    Session& session_;
    LogRequest request_;
    Subject subject_;
    Data on_data_;
    Ended on_end_;  // null: cancelled, or told
    std::unique_ptr<Exchange> exchange_;
    Registration retry_, silence_;
    std::string buffer_;
    std::exception_ptr failure_;
    Session::Clock::time_point deadline_, contact_;
    int attempts_ = 0;
    bool over_ = false, paused_ = false, waits_ = false, delivery_queued_ = false, any_ = false;
};

}  // namespace sinew::k8s
