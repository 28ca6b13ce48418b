// SPDX-License-Identifier: Apache-2.0
#include "launchers/dashboard/http/answer.hpp"

#include <algorithm>
#include <string_view>

#include "launchers/dashboard/metrics.hpp"
#include "launchers/dashboard/page/page.hpp"
#include "launchers/dashboard/state_json.hpp"
#include "src/base/text.hpp"

namespace sinew::launch::dashboard {
namespace {

// Everything comes from here, no other page may show this one or read it, and nothing is kept.
constexpr std::string_view common_headers =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src "
    "'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "X-Frame-Options: DENY\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cross-Origin-Opener-Policy: same-origin\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n"
    "Cache-Control: no-store\r\n"
    "Connection: close\r\n";

std::string_view reason(int status) {
    switch (status) {
        case 200:
            return "OK";
        case 400:
            return "Bad Request";
        case 401:
            return "Unauthorized";
        case 403:
            return "Forbidden";
        case 404:
            return "Not Found";
        case 405:
            return "Method Not Allowed";
        case 413:
            return "Content Too Large";
        case 421:
            return "Misdirected Request";
        case 431:
            return "Request Header Fields Too Large";
        default:
            return "Service Unavailable";
    }
}

std::string head(int status, std::string_view type, std::string_view more) {
    return text("HTTP/1.1 ", status, ' ', reason(status), "\r\n", "Content-Type: ", type, "\r\n",
                common_headers, more, "\r\n");
}

Answer whole(int status, std::string_view type, std::string_view body, std::string_view more = {}) {
    return {status,
            head(status, type, text("Content-Length: ", body.size(), "\r\n", more)).append(body),
            false};
}

Answer refuse(int status, std::string const& remedy, std::string_view more = {}) {
    return whole(status, "text/plain; charset=utf-8", remedy + "\n", more);
}

// A browser names the origin of the page that asks, except for a page's own GET requests.
bool is_foreign(Request const& request) {
    return !request.origin.empty() && request.origin != "http://" + request.host;
}

}  // namespace

Answer refusal(int status, std::string const& remedy) { return refuse(status, remedy); }

Answer answer(Request const& request, State const& state, Token const& token, Time now) {
    if (!names_loopback(request.host))
        return refuse(421, "this dashboard is at localhost or 127.0.0.1; use one of these names");
    if (is_foreign(request)) return refuse(403, "other pages may not ask");
    if (request.method != "GET") return refuse(405, "only GET is answered", "Allow: GET\r\n");
    auto const target = std::string_view(request.target).substr(0, request.target.find('?'));
    for (auto const& file : page_files())
        if (file.target == target) return whole(200, file.type, file.bytes);
    if (target != "/api" && target != "/metrics" && target != "/events")
        return refuse(404, "there are /, /api, /events and /metrics");
    if (!token.admits(request.authorization))
        return refuse(401,
                      "the token is missing or wrong: send 'Authorization: Bearer TOKEN' with what "
                      "follows #token= in the address that was printed",
                      "WWW-Authenticate: Bearer realm=\"sinew\"\r\n");
    if (target == "/api") return whole(200, "application/json", to_json(state, now));
    if (target == "/metrics")
        return whole(200, "text/plain; version=0.0.4; charset=utf-8",
                     metrics_text(state.view(), now));
    return {200, head(200, "text/event-stream", ""), true};
}

}  // namespace sinew::launch::dashboard
