// SPDX-License-Identifier: Apache-2.0
#include "k8s/requests/exchange.hpp"

#include <algorithm>

namespace sinew::k8s {
namespace {

constexpr std::size_t most_error_body = std::size_t(64) << 10;
constexpr std::size_t most_ignored = std::size_t(1) << 20;

bool good(int status) { return status >= 200 && status < 300; }

}  // namespace

Exchange::Exchange(Session& session, HttpRequest request, ExchangeListener& listener)
    : session_(session), request_(std::move(request)), listener_(listener) {
    ask(0);
}

Exchange::~Exchange() = default;

void Exchange::resume() {
    if (transfer_) transfer_->resume();
}

void Exchange::ask(std::uint64_t refused) {
    waits_ = session_.credential.obtain(
        refused, [this](std::exception_ptr failure, Credential::Issued const& issued) {
            send(failure, issued);
        });
}

// May be called within the constructor: the listener is told of a failure later.
void Exchange::send(std::exception_ptr failure, Credential::Issued const& issued) {
    if (!failure) try {
            number_ = issued.number;
            error_body_.clear();
            transfer_ = std::make_unique<Transfer>(session_.loop, session_.configuration.cluster,
                                                   issued.identity, request_, *this);
            return;
        } catch (...) {
            failure = std::current_exception();
        }
    fails_later_ = session_.loop.at(HttpLoop::Clock::now(), [this, failure] {
        ExchangeEnd end;
        end.no_credentials = failure;
        listener_.ended(std::move(end));
    });
}

void Exchange::head(int status) {
    session_.answered = true;
    if (good(status)) listener_.began();
}

TransferListener::Take Exchange::data(int status, std::string_view bytes) {
    if (good(status)) return listener_.data(bytes);
    ignored_ += bytes.size();
    error_body_ += bytes.substr(0, most_error_body - std::min(most_error_body, error_body_.size()));
    return ignored_ > most_ignored ? Take::refuse : Take::all;
}

void Exchange::ended(TransferEnd const& end) {
    if (end.status == 401 && !renewed_ && session_.credential.renewable()) {
        renewed_ = true;
        transfer_.reset();
        ask(number_);
        return;
    }
    ExchangeEnd mine{nullptr, end, std::move(error_body_)};
    // Enough of a long error was read.
    if (ignored_ > most_ignored && end.result == TransferEnd::Result::refused)
        mine.transfer.result = TransferEnd::Result::answered;
    listener_.ended(std::move(mine));
}

}  // namespace sinew::k8s
