// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <list>
#include <memory>

#include "k8s/credentials/exec_credential.hpp"
#include "k8s/credentials/plugin_run.hpp"

namespace sinew::k8s {

/// The credentials of one user: read anew from their file for each request, or had from a plugin and
/// kept until they expire or the server refuses them.
class Credential {
public:
    /// Identities of one user that differ have different numbers.
    struct Issued {
        Identity identity;
        std::uint64_t number = 0;
    };
    using Ready = std::function<void(std::exception_ptr failure, Issued const& issued)>;

    Credential(HttpLoop& loop, Configuration const& configuration,
               std::chrono::milliseconds plugin_timeout);
    Credential(Credential const&) = delete;
    Credential& operator=(Credential const&) = delete;

    /// Calls `ready` once, within this call or within a turn of the loop. Failures are UsageError and
    /// Timeout. What was issued with the number `refused` is not issued again, except what cannot be
    /// renewed.
    [[nodiscard]] Registration obtain(std::uint64_t refused, Ready ready);
    /// Whether another try may bring other credentials, after these were refused.
    bool renewable() const;
    /// Which credentials these are, for messages: "the token of user ann (token file /x)".
    std::string description() const;

private:
    struct Waiting;
    bool usable(std::uint64_t refused) const;
    void start_plugin();
    void plugin_ended(std::exception_ptr failure, std::string const& output);

    HttpLoop& loop_;
    UserCredentials user_;
    ClusterAddress cluster_;
    std::chrono::milliseconds plugin_timeout_;
    Issued issued_;
    std::chrono::system_clock::time_point expires_;
    std::unique_ptr<PluginRun> run_;
    Registration cleans_up_;
    std::list<std::shared_ptr<Waiting>> waiting_;
};

}  // namespace sinew::k8s
