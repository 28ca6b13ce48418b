// SPDX-License-Identifier: Apache-2.0
#include "k8s/credentials/credential.hpp"

#include <sinew/error.hpp>

#include "k8s/config/files.hpp"
#include "src/base/text.hpp"

namespace sinew::k8s {

struct Credential::Waiting : Registration::Body {
    void cancel() noexcept override { ready = nullptr; }
    Ready ready;
};

Credential::Credential(HttpLoop& loop, Configuration const& configuration,
                       std::chrono::milliseconds plugin_timeout)
    : loop_(loop), user_(configuration.user), cluster_(configuration.cluster),
      plugin_timeout_(plugin_timeout), expires_(std::chrono::system_clock::time_point::max()) {
    auto& identity = issued_.identity;
    identity.bearer_token = user_.token;
    identity.username = user_.username;
    identity.password = user_.password;
    identity.client_certificate = user_.client_certificate;
    identity.client_key = user_.client_key;
    identity.impersonate = user_.impersonate;
    identity.impersonate_groups = user_.impersonate_groups;
}

bool Credential::renewable() const { return user_.exec || !user_.token_file.empty(); }

std::string Credential::description() const {
    auto const of = text(" of user ", user_.name);
    if (user_.exec) return text("the credentials of the plugin ", user_.exec->command, of);
    if (!user_.token_file.empty()) return text("the token in ", user_.token_file, of);
    if (!user_.token.empty()) return "the token" + of;
    if (!user_.username.empty()) return "the password" + of;
    if (!user_.client_certificate.empty()) return "the client certificate" + of;
    return text("no credentials at all (user \"", user_.name, "\" has none)");
}

bool Credential::usable(std::uint64_t refused) const {
    return issued_.number != 0 && issued_.number != refused &&
           std::chrono::system_clock::now() + std::chrono::seconds(10) < expires_;
}

Registration Credential::obtain(std::uint64_t refused, Ready ready) {
    if (!user_.exec) {
        std::exception_ptr failure;
        if (issued_.number == 0) issued_.number = 1;
        if (!user_.token_file.empty()) try {
                auto token =
                    read_file(user_.token_file, text("the token file of user ", user_.name));
                while (!token.empty() && std::isspace(static_cast<unsigned char>(token.back())))
                    token.pop_back();
                if (token.empty())
                    throw UsageError(text("the token file ", user_.token_file, " is empty"));
                if (token != issued_.identity.bearer_token) ++issued_.number;
                issued_.identity.bearer_token = std::move(token);
            } catch (...) {
                failure = std::current_exception();
            }
        ready(failure, issued_);
        return Registration();
    }
    if (usable(refused)) {
        ready(nullptr, issued_);
        return Registration();
    }
    if (!run_ || cleans_up_) try {
            start_plugin();
        } catch (...) {
            ready(std::current_exception(), issued_);
            return Registration();
        }
    auto waiting = std::make_shared<Waiting>();
    waiting->ready = std::move(ready);
    waiting_.push_back(waiting);
    return Registration(std::move(waiting));
}

void Credential::start_plugin() {
    cleans_up_ = Registration();
    run_.reset();
    run_ =
        std::make_unique<PluginRun>(loop_, *user_.exec, cluster_, plugin_timeout_,
                                    [this](std::exception_ptr failure, std::string const& output) {
                                        plugin_ended(failure, output);
                                    });
}

void Credential::plugin_ended(std::exception_ptr failure, std::string const& output) {
    if (!failure) try {
            auto found = parse_exec_credential(output, *user_.exec);
            found.identity.impersonate = user_.impersonate;
            found.identity.impersonate_groups = user_.impersonate_groups;
            if (found.identity.client_certificate.empty()) {
                found.identity.client_certificate = user_.client_certificate;
                found.identity.client_key = user_.client_key;
            }
            issued_ = {std::move(found.identity), issued_.number + 1};
            expires_ = found.expires.value_or(std::chrono::system_clock::time_point::max());
        } catch (...) {
            failure = std::current_exception();
        }
    // This is called by the run, which cannot be destroyed yet.
    cleans_up_ = loop_.at(HttpLoop::Clock::now(), [this] {
        cleans_up_ = Registration();
        run_.reset();
    });
    for (auto const& each : std::exchange(waiting_, {}))
        if (auto const ready = std::exchange(each->ready, nullptr)) ready(failure, issued_);
}

}  // namespace sinew::k8s
