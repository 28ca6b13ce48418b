// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "k8s/config/configuration.hpp"
#include "k8s/http/http_loop.hpp"

namespace sinew::k8s {

/// What a request shows to prove who asks. It holds secrets.
struct Identity {
    std::string bearer_token, username, password;
    std::string client_certificate, client_key;  ///< PEM text
    std::string impersonate;
    std::vector<std::string> impersonate_groups;
};

struct HttpRequest {
    std::string method = "GET";
    std::string target;  ///< "/api/v1/pods?limit=500", encoded
    std::string body = {}, content_type = {};
    std::chrono::milliseconds connect_timeout = std::chrono::seconds(10);
    std::chrono::milliseconds timeout = {};  ///< from start to end; 0: none
};

/// How a transfer ended.
struct TransferEnd {
    enum class Result {
        answered,  ///< the whole answer arrived
        refused,   ///< the listener refused data, or the answer has a form that is refused
        lost,      ///< no connection, or it broke; another attempt may succeed
        unusable,  ///< no attempt can succeed: certificates, names, protocols
        timed_out,
    };
    Result result = Result::lost;
    int status = 0;
    bool sent = false;  ///< the server may have seen the request
    std::string content_type = {};
    std::optional<std::chrono::seconds> retry_after = {};
    std::string problem = {};  ///< libcurl's words
    int code = 0;              ///< CURLcode
};

/// Gets the parts of an answer. Called within HttpLoop::turn; `data` must not destroy the transfer.
class TransferListener {
public:
    /// postpone: nothing is taken, and nothing is read until Transfer::resume, which gives the same
    /// data again.
    enum class Take { all, postpone, refuse };

    /// The headers have arrived, of an answer that is no redirect.
    virtual void head(int /*status*/) {}
    virtual Take data(int status, std::string_view bytes) = 0;
    /// Once. The transfer may be destroyed.
    virtual void ended(TransferEnd const& end) = 0;

protected:
    ~TransferListener() = default;
};

/// One HTTP/1.1 request and its answer. Redirects are not followed, contents are not decoded, servers
/// are verified as the address says (TLS 1.2 at least), and no credential leaves without TLS, except
/// to this host.
class Transfer {
public:
    /// Starts it. Throws UsageError (the server's URL is wrong) and BackendError (libcurl).
    Transfer(HttpLoop& loop, ClusterAddress const& cluster, Identity const& identity,
             HttpRequest const& request, TransferListener& listener);
    Transfer(Transfer const&) = delete;
    Transfer& operator=(Transfer const&) = delete;
    /// Ends it if it has not ended; the connection is then closed.
    ~Transfer();

    void resume();

private:
    friend class HttpLoop;
    void end(int code);

    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace sinew::k8s
