// SPDX-License-Identifier: Apache-2.0
#include "k8s/http/transfer.hpp"

#include <array>
#include <cctype>
#include <sinew/error.hpp>

#include "k8s/http/easy_handle.hpp"
#include "k8s/http/http_loop_state.hpp"
#include "src/base/text.hpp"

namespace sinew::k8s {
namespace {

constexpr std::size_t max_headers = std::size_t(256) << 10;

TransferEnd::Result result_of(CURLcode code) {
    switch (code) {
        case CURLE_OK:
            return TransferEnd::Result::answered;
        case CURLE_OPERATION_TIMEDOUT:
            return TransferEnd::Result::timed_out;
        case CURLE_COULDNT_RESOLVE_HOST:
        case CURLE_COULDNT_RESOLVE_PROXY:
        case CURLE_COULDNT_CONNECT:
        case CURLE_SSL_CONNECT_ERROR:
        case CURLE_SEND_ERROR:
        case CURLE_RECV_ERROR:
        case CURLE_GOT_NOTHING:
        case CURLE_PARTIAL_FILE:
        case CURLE_AGAIN:
        case CURLE_SSL_SHUTDOWN_FAILED:
        case CURLE_PROXY:
            return TransferEnd::Result::lost;
        case CURLE_WRITE_ERROR:
        case CURLE_BAD_CONTENT_ENCODING:
        case CURLE_UNSUPPORTED_PROTOCOL:
        case CURLE_WEIRD_SERVER_REPLY:
        case CURLE_FILESIZE_EXCEEDED:
            return TransferEnd::Result::refused;
            return TransferEnd::Result::refused;
        default:
            return TransferEnd::Result::unusable;
    }
}

}  // namespace

struct Transfer::State {
    State(HttpLoop::State& in, EasyHandle made, TransferListener& to)
        : loop(in), handle(std::move(made)), listener(to) {}

    static std::size_t take_data(char* bytes, std::size_t, std::size_t count, void* self) {
        auto& state = *static_cast<State*>(self);
        switch (state.listener.data(state.status(), {bytes, count})) {
            case TransferListener::Take::all:
                return count;
            case TransferListener::Take::postpone:
                return CURL_WRITEFUNC_PAUSE;
            default:
                return count == 0 ? 1 : 0;
        }
    }
    static std::size_t take_header(char* line, std::size_t, std::size_t count, void* self) {
        auto& state = *static_cast<State*>(self);
        state.header_bytes += count;
        if (std::string_view(line, count) == "\r\n" && state.status() >= 200)
            state.listener.head(state.status());
        return state.header_bytes > max_headers ? 0 : count;
    }
    int status() const {
        long found = 0;
        ::curl_easy_getinfo(handle.easy.get(), CURLINFO_RESPONSE_CODE, &found);
        return int(found);
    }

    HttpLoop::State& loop;
    EasyHandle handle;
    TransferListener& listener;
    std::string body;
    std::size_t header_bytes = 0;
    std::array<char, CURL_ERROR_SIZE> problem{};
};

Transfer::Transfer(HttpLoop& loop, ClusterAddress const& cluster, Identity const& identity,
                   HttpRequest const& request, TransferListener& listener)
    : state_(std::make_unique<State>(
          *loop.state_, make_easy_handle(cluster, identity, request.target), listener)) {
    auto& handle = state_->handle;
    state_->body = request.body;
    handle.set(CURLOPT_ERRORBUFFER, state_->problem.data());
    handle.set(CURLOPT_WRITEFUNCTION, &State::take_data);
    handle.set(CURLOPT_WRITEDATA, state_.get());
    handle.set(CURLOPT_HEADERFUNCTION, &State::take_header);
    handle.set(CURLOPT_HEADERDATA, state_.get());
    handle.set(CURLOPT_CONNECTTIMEOUT_MS, long(request.connect_timeout.count()));
    handle.set(CURLOPT_TIMEOUT_MS, long(request.timeout.count()));
    handle.add_header("Accept: application/json, */*;q=0.1");
    if (request.method != "GET") handle.set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
    if (!state_->body.empty()) {
        handle.set(CURLOPT_POSTFIELDS, state_->body.data());
        handle.set(CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(state_->body.size()));
        handle.add_header("Content-Type: " + request.content_type);
        handle.add_header("Expect:");
    }
    handle.set(CURLOPT_HTTPHEADER, handle.headers.get());
    state_->loop.add(*this, handle.easy.get());
}

Transfer::~Transfer() { state_->loop.remove(*this, state_->handle.easy.get()); }

void Transfer::resume() {
    ::curl_easy_pause(state_->handle.easy.get(), CURLPAUSE_CONT);
    state_->loop.arm();
}

void Transfer::end(int code) {
    auto* const easy = state_->handle.easy.get();
    TransferEnd end;
    end.code = code;
    end.result = result_of(CURLcode(code));
    end.status = state_->status();
    long request_bytes = 0;
    ::curl_easy_getinfo(easy, CURLINFO_REQUEST_SIZE, &request_bytes);
    end.sent = request_bytes > 0;
    char const* type = nullptr;
    ::curl_easy_getinfo(easy, CURLINFO_CONTENT_TYPE, &type);
    if (type) end.content_type = type;
    curl_off_t wait = 0;
    ::curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &wait);
    if (wait > 0) end.retry_after = std::chrono::seconds(wait);
    end.problem =
        state_->problem[0] ? state_->problem.data() : ::curl_easy_strerror(CURLcode(code));
    if (state_->header_bytes > max_headers) {
        end.result = TransferEnd::Result::refused;
        end.problem = text("the headers of the answer exceed ", max_headers, " bytes");
    } else if (code == CURLE_OK && end.status >= 300 && end.status < 400) {
        end.result = TransferEnd::Result::refused;
        char const* elsewhere = nullptr;
        ::curl_easy_getinfo(easy, CURLINFO_REDIRECT_URL, &elsewhere);
        end.problem = text("it redirects to ", elsewhere ? elsewhere : "nowhere", " (status ",
                           end.status, "), and credentials are not sent anywhere else");
    }
    state_->listener.ended(end);
}

}  // namespace sinew::k8s
