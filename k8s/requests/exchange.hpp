// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <string_view>

#include "k8s/http/transfer.hpp"
#include "k8s/requests/session.hpp"

namespace sinew::k8s {

/// How an exchange ended.
struct ExchangeEnd {
    std::exception_ptr no_credentials = {};  ///< nothing was sent
    TransferEnd transfer = {};
    std::string error_body = {};  ///< of an answer whose status is not 2xx, at most 64 KiB

    bool succeeded() const {
        return !no_credentials && transfer.result == TransferEnd::Result::answered &&
               transfer.status >= 200 && transfer.status < 300;
    }
};

/// Gets the answer. Called within HttpLoop::turn.
class ExchangeListener {
public:
    virtual void began() {}  ///< an answer with a status 2xx has begun
    /// Of an answer with a status 2xx. Must not destroy the exchange.
    virtual TransferListener::Take data(std::string_view bytes) = 0;
    /// Once. The exchange may be destroyed.
    virtual void ended(ExchangeEnd end) = 0;

protected:
    ~ExchangeListener() = default;
};

/// One request with the user's credentials; they are renewed, and the request is repeated, if the
/// server refuses them (401).
class Exchange final : public TransferListener {
public:
    Exchange(Session& session, HttpRequest request, ExchangeListener& listener);
    Exchange(Exchange const&) = delete;
    Exchange& operator=(Exchange const&) = delete;
    ~Exchange();

    void resume();

private:
    void ask(std::uint64_t refused);
    void send(std::exception_ptr failure, Credential::Issued const& issued);
    void head(int status) override;
    Take data(int status, std::string_view bytes) override;
    void ended(TransferEnd const& end) override;

    Session& session_;
    HttpRequest request_;
    ExchangeListener& listener_;
    Registration waits_, fails_later_;
    std::unique_ptr<Transfer> transfer_;
    std::string error_body_;
    std::uint64_t number_ = 0;
    std::size_t ignored_ = 0;
    bool renewed_ = false;
};

}  // namespace sinew::k8s
