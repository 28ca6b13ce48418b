// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <exception>
#include <optional>
#include <string>

#include "k8s/requests/exchange.hpp"
#include "k8s/requests/session.hpp"
#include "k8s/resource.hpp"

namespace sinew::k8s {

/// What a request was about, for messages.
struct Subject {
    std::string verb;  ///< "create", "read the log of"
    Resource resource;
    std::string ns, name;
};

/// Why an exchange has failed, and whether another attempt may succeed.
struct Failure {
    std::exception_ptr error;
    bool retry = false;
    bool maybe_done = false;  ///< the server may have carried out the request
    bool conflict = false;    ///< it met another change, of this object or of a quota
    int status = 0;
    std::optional<std::chrono::seconds> retry_after = {};
};

/// Of an exchange that has not succeeded.
Failure failure_of(Session const& session, Subject const& subject, ExchangeEnd const& end);

/// Of a Status object that came in another way than as an answer.
std::exception_ptr status_error(Session const& session, Subject const& subject, int code,
                                std::string const& body);

/// An answer that the API would not give.
std::exception_ptr wrong_answer(Session const& session, Subject const& subject,
                                std::string const& why);

/// "create jobs \"a\" in namespace ml"
std::string describe(Subject const& subject);

}  // namespace sinew::k8s
