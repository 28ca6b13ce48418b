// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sinew/error.hpp>

#include <chrono>
#include <optional>
#include <string>

namespace sinew::k8s {

/// The API server refused a request. The text says what was asked, why it was refused, and what to
/// do about it.
///
/// Other failures are Unavailable (no connection, DNS, TLS, a server that fails again and again),
/// Timeout (the deadline passed), BackendError (an answer that is not the Kubernetes API's) and
/// UsageError (configuration, credentials that cannot be had).
class ApiError : public Error {
public:
    struct Details {
        int code = 0;         ///< HTTP status
        std::string reason;   ///< "AlreadyExists", as the Status says; may be empty
        std::string message;  ///< of the server
        std::string verb, resource, name, ns;
        std::optional<std::chrono::seconds> retry_after = {};
    };

    ApiError(std::string const& what, Details details)
        : Error(what), details_(std::move(details)) {}
    Details const& details() const noexcept { return details_; }
    int code() const noexcept { return details_.code; }

    bool not_found() const noexcept { return details_.code == 404; }
    bool already_exists() const noexcept {
        return details_.code == 409 && details_.reason == "AlreadyExists";
    }
    bool conflict() const noexcept { return details_.code == 409 && !already_exists(); }
    bool gone() const noexcept { return details_.code == 410; }
    bool unauthorized() const noexcept { return details_.code == 401; }
    bool quota_exceeded() const noexcept;
    /// Rights are missing; a quota is not a matter of rights.
    bool forbidden() const noexcept { return details_.code == 403 && !quota_exceeded(); }

private:
    Details details_;
};

}  // namespace sinew::k8s
