// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "k8s/client_options.hpp"
#include "k8s/config/configuration.hpp"
#include "k8s/credentials/credential.hpp"
#include "k8s/http/http_loop.hpp"
#include "k8s/resource.hpp"

namespace sinew::k8s {

/// What all requests of a client share.
struct Session {
    using Clock = HttpLoop::Clock;

    Session(Configuration from, ClientOptions with);

    /// The delay before attempt `attempt` + 1: from 0.25 s, doubled up to 10 s, and random.
    Clock::duration delay(int attempt);
    std::string ns_or_default(std::string const& ns) const {
        return ns.empty() ? configuration.ns : ns;
    }

    Configuration configuration;
    ClientOptions options;
    HttpLoop loop;
    Credential credential;
    bool answered = false;  ///< the server has answered at least once
    std::mt19937_64 random;
};

using Query = std::vector<std::pair<std::string, std::string>>;

/// "/apis/batch/v1/namespaces/ml/jobs/a/status?x=y", encoded. Throws UsageError: a name cannot be
/// part of a path.
std::string target_of(Resource const& resource, std::string const& ns, std::string const& name,
                      std::string const& subresource, Query const& query);

/// A random id of 32 hexadecimal digits.
std::string random_id();

}  // namespace sinew::k8s
