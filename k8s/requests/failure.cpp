// SPDX-License-Identifier: Apache-2.0
#include "k8s/requests/failure.hpp"

#include <curl/curl.h>

#include <sinew/error.hpp>

#include "k8s/api_error.hpp"
#include "k8s/objects/json_access.hpp"
#include "k8s/objects/parse_json.hpp"
#include "src/base/text.hpp"

namespace sinew::k8s {
namespace {

using Json = nlohmann::json;

std::string server_of(Session const& session) {
    return text(session.configuration.cluster.server, " (", session.configuration.source, ")");
}

// What others sent is shown without control characters and not without end.
std::string shown(std::string const& from_others) {
    std::string out;
    for (char const c : from_others) {
        if (out.size() > 2000) return out + "...";
        out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
    }
    return out;
}

std::string causes_of(Json const& status) {
    std::string out;
    for (auto const& cause : list_of(member(status, "details", "causes"))) {
        auto const field = string_in(cause, "field"), message = string_in(cause, "message");
        out += (out.empty() ? "" : "; ") + (field.empty() ? "" : field + ": ") + message;
    }
    return shown(out);
}

std::string where(Subject const& subject) {
    return subject.resource.namespaced ? " in namespace " + subject.ns : "";
}

std::string of_type(Resource const& resource) {
    return resource.group.empty() ? std::string(resource.plural)
                                  : text(resource.plural, ".", resource.group);
}

std::string not_found(Session const& session, Subject const& subject, Json const& status,
                      std::string const& message) {
    auto const kind = string_in(status, "details", "kind"),
               name = string_in(status, "details", "name");
    if (kind == "namespaces" && subject.resource.plural != "namespaces")
        return text("namespace ", shown(name), " does not exist on ", server_of(session),
                    ". Give --namespace, or create it: kubectl create namespace ", shown(name));
    if (name.empty())
        return text("cannot ", describe(subject), ": ", server_of(session), " does not have ",
                    of_type(subject.resource), "/", subject.resource.version, " (", message,
                    "). Is what provides it installed, and the server's URL right?");
    return text("cannot ", describe(subject), ": it does not exist");
}

// A configuration without a context is that of a pod.
char const* role_for(Session const& session) {
    return session.configuration.context.empty() ? "k8s/manifests/pods-role.yaml"
                                                 : "k8s/manifests/role.yaml";
}

std::string text_of(Session const& session, Subject const& subject, int code, Json const& status,
                    ApiError const& error) {
    auto const message = shown(error.details().message);
    switch (code) {
        case 401:
            return text("the server ", server_of(session), " does not accept ",
                        session.credential.description(),
                        session.credential.renewable() ? ", even after renewing them" : "",
                        ". Log in again with your provider's tool; kubectl auth whoami must work");
        case 403:
            if (error.quota_exceeded())
                return text("the quota of namespace ", subject.ns, " is exceeded by ",
                            describe(subject), " (", message,
                            "). Ask for less, wait for other jobs, "
                            "or have it raised: kubectl describe quota -n ",
                            subject.ns);
            return text("forbidden: ", subject.verb, " ", of_type(subject.resource), where(subject),
                        " (", message, "). Ask for the Role in ", role_for(session),
                        ": kubectl apply -n ", subject.ns, " -f ", role_for(session));
        case 404:
            return not_found(session, subject, status, message);
        case 409:
            if (error.already_exists())
                return text("cannot ", describe(subject),
                            ": one of this name exists already. Choose "
                            "another name, or remove it: kubectl delete ",
                            of_type(subject.resource), " -n ", subject.ns, " ", subject.name);
            return text("cannot ", describe(subject), ": somebody else has changed it (", message,
                        ")");
        case 410:
            return text("cannot ", describe(subject), ": the version is too old (", message, ")");
        case 422: {
            auto const causes = causes_of(status);
            return text("cannot ", describe(subject),
                        ": the object is invalid: ", causes.empty() ? message : causes);
        }
        case 429:
            return text("cannot ", describe(subject), ": the server ", server_of(session),
                        " has too many requests (", message, "). Try again later");
        default:
            break;
    }
    return text("cannot ", describe(subject), ": the server ", server_of(session), " answers ",
                code, error.details().reason.empty() ? "" : " " + shown(error.details().reason),
                message.empty() ? "" : ": " + message);
}

std::string remedy(int code, Session const& session) {
    auto const& cluster = session.configuration.cluster;
    switch (code) {
        case CURLE_COULDNT_RESOLVE_HOST:
            return "Is the name right, and the network (VPN) up?";
        case CURLE_COULDNT_RESOLVE_PROXY:
            return "Is the proxy's name right (proxy-url, HTTPS_PROXY)?";
        case CURLE_COULDNT_CONNECT:
            return "Does the cluster run, and does a firewall or proxy stand between? Compare "
                   "kubectl "
                   "cluster-info";
        case CURLE_PEER_FAILED_VERIFICATION:
            return text(
                "The certificate-authority of cluster ", cluster.name,
                " must be the one that signed the server's certificate, and the certificate "
                "must be for the server's name (or tls-server-name) and not expired. Fetch the "
                "kubeconfig anew");
        case CURLE_SSL_CACERT_BADFILE:
            return text("The certificate-authority of cluster ", cluster.name, " is not PEM text");
        case CURLE_SSL_CERTPROBLEM:
            return text("The client certificate and key of user ", session.configuration.user.name,
                        " must be PEM text and belong together");
        case CURLE_SSL_CONNECT_ERROR:
            return "Is it a TLS server (version 1.2 or later), and the client certificate not "
                   "expired?";
        default:
            return "Try kubectl version with the same context";
    }
}

Failure answered(Session const& session, Subject const& subject, ExchangeEnd const& end) {
    Failure failure;
    failure.status = end.transfer.status;
    auto const status = failure.status;
    failure.retry = status == 429 || status == 500 || (status >= 502 && status <= 504);
    failure.maybe_done = failure.retry && status != 429;
    failure.retry_after = end.transfer.retry_after;
    failure.error = status_error(session, subject, status, end.error_body);
    failure.conflict =
        status == 409 && string_in(parse_json(end.error_body), "reason") == "Conflict";
    return failure;
}

}  // namespace

bool ApiError::quota_exceeded() const noexcept {
    return details_.code == 403 && details_.message.find("exceeded quota") != std::string::npos;
}

std::string describe(Subject const& subject) {
    return text(subject.verb, " ", of_type(subject.resource),
                subject.name.empty() ? "" : " " + subject.name, where(subject));
}

std::exception_ptr status_error(Session const& session, Subject const& subject, int code,
                                std::string const& body) {
    auto const status = parse_json(body);
    bool const is_status = status.is_object() && string_in(status, "kind") == "Status";
    ApiError::Details details;
    details.code = code;
    details.reason = is_status ? string_in(status, "reason") : "";
    details.message = is_status ? string_in(status, "message") : shown(body.substr(0, 200));
    details.verb = subject.verb;
    details.resource = subject.resource.plural;
    details.name = subject.name;
    details.ns = subject.ns;
    if (int const wait = int_of(member(status, "details", "retryAfterSeconds")); wait > 0)
        details.retry_after = std::chrono::seconds(wait);
    auto const what =
        text_of(session, subject, code, is_status ? status : Json(), ApiError("", details));
    return std::make_exception_ptr(ApiError(what, std::move(details)));
}

std::exception_ptr wrong_answer(Session const& session, Subject const& subject,
                                std::string const& why) {
    return std::make_exception_ptr(
        BackendError(text("cannot ", describe(subject), ": ", server_of(session),
                          " does not answer as the Kubernetes API does: ", shown(why)),
                     0));
}

Failure failure_of(Session const& session, Subject const& subject, ExchangeEnd const& end) {
    if (end.no_credentials) return {end.no_credentials};
    auto const& transfer = end.transfer;
    auto const cannot = text("cannot ", describe(subject), ": ");
    switch (transfer.result) {
        case TransferEnd::Result::answered:
            return answered(session, subject, end);
        case TransferEnd::Result::refused:
            return {wrong_answer(session, subject, transfer.problem), false, transfer.sent};
        case TransferEnd::Result::timed_out:
            return {
                std::make_exception_ptr(Timeout(text(cannot, "no answer of ", server_of(session),
                                                     " in time (", transfer.problem, ")"))),
                true, transfer.sent};
        default:
            return {std::make_exception_ptr(Unavailable(
                        text(cannot, server_of(session), " cannot be reached: ", transfer.problem,
                             ". ", remedy(transfer.code, session)))),
                    transfer.result == TransferEnd::Result::lost, transfer.sent};
    }
}

}  // namespace sinew::k8s
