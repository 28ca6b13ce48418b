// SPDX-License-Identifier: Apache-2.0
#include "k8s/http/easy_handle.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <sinew/error.hpp>
#include <sinew/version.hpp>

#include "src/base/text.hpp"

namespace sinew::k8s {
namespace {

struct UrlCleanup {
    void operator()(CURLU* url) const { ::curl_url_cleanup(url); }
    void operator()(char* part) const { ::curl_free(part); }
};
using Url = std::unique_ptr<CURLU, UrlCleanup>;

std::string part(CURLU* url, CURLUPart which, unsigned flags = 0) {
    char* found = nullptr;
    if (::curl_url_get(url, which, &found, flags) != CURLUE_OK) return {};
    std::unique_ptr<char, UrlCleanup> const held(found);
    return found;
}

// A connection whose other end has vanished is noticed within 90 seconds, idle or not.
int prepare_socket(void*, curl_socket_t socket, curlsocktype purpose) {
    if (purpose != CURLSOCKTYPE_IPCXN) return CURL_SOCKOPT_OK;
    int const on = 1, idle = 30, interval = 15, count = 4;
    unsigned const unanswered = 90'000;
    ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
    ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
    ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
    ::setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &unanswered, sizeof(unanswered));
    return CURL_SOCKOPT_OK;
}

bool is_loopback(std::string const& host) {
    return host == "localhost" || host == "[::1]" || host.starts_with("127.");
}

void set_blob(EasyHandle& handle, CURLoption option, std::string const& bytes) {
    curl_blob blob{const_cast<char*>(bytes.data()), bytes.size(), CURL_BLOB_COPY};
    handle.set(option, &blob);
}

void set_address(EasyHandle& handle, ClusterAddress const& cluster, std::string const& target,
                 bool has_secrets) {
    Url const url(::curl_url());
    // Without a scheme it is https, as kubectl takes it.
    auto const wrong =
        ::curl_url_set(url.get(), CURLUPART_URL, cluster.server.c_str(), CURLU_DEFAULT_SCHEME);
    auto const scheme = part(url.get(), CURLUPART_SCHEME);
    if (wrong != CURLUE_OK || (scheme != "https" && scheme != "http"))
        throw UsageError(text("the server of cluster ", cluster.name, " is \"", cluster.server,
                              "\", which is not the URL of an API server (https://host:port)"));
    auto const server = part(url.get(), CURLUPART_HOST),
               port = part(url.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT);
    if (scheme == "http" && has_secrets && !is_loopback(server))
        throw UsageError(text("the server ", cluster.server, " of cluster ", cluster.name,
                              " is not reached by TLS, and credentials would be sent readable by "
                              "anybody on the way. Use its https:// address"));
    if (!cluster.tls_server_name.empty()) {
        handle.host = server + ":" + port;
        handle.connect_to.reset(::curl_slist_append(nullptr, ("::" + handle.host).c_str()));
        handle.set(CURLOPT_CONNECT_TO, handle.connect_to.get());
        ::curl_url_set(url.get(), CURLUPART_HOST, cluster.tls_server_name.c_str(), 0);
        handle.add_header("Host: " + handle.host);
    } else {
        handle.host = server + ":" + port;
    }
    auto base = part(url.get(), CURLUPART_PATH);
    while (base.ends_with('/')) base.pop_back();
    auto const path = base + target.substr(0, target.find('?'));
    ::curl_url_set(url.get(), CURLUPART_PATH, path.c_str(), 0);
    auto const question = target.find('?');
    ::curl_url_set(url.get(), CURLUPART_QUERY,
                   question == target.npos ? nullptr : target.c_str() + question + 1, 0);
    ::curl_url_set(url.get(), CURLUPART_FRAGMENT, nullptr, 0);
    ::curl_url_set(url.get(), CURLUPART_USER, nullptr, 0);
    ::curl_url_set(url.get(), CURLUPART_PASSWORD, nullptr, 0);
    handle.set(CURLOPT_URL, part(url.get(), CURLUPART_URL).c_str());
    handle.set(CURLOPT_PROTOCOLS_STR, scheme.c_str());
}

void set_verification(EasyHandle& handle, ClusterAddress const& cluster) {
    handle.set(CURLOPT_SSLVERSION, long(CURL_SSLVERSION_TLSv1_2));
    if (!cluster.authority.empty()) {
        // The cluster's authorities alone: the system's are not trusted besides.
        handle.set(CURLOPT_CAPATH, static_cast<char*>(nullptr));
        handle.set(CURLOPT_CAINFO, static_cast<char*>(nullptr));
        set_blob(handle, CURLOPT_CAINFO_BLOB, cluster.authority);
    }
    handle.set(CURLOPT_SSL_VERIFYPEER, cluster.verify ? 1L : 0L);
    handle.set(CURLOPT_SSL_VERIFYHOST, cluster.verify ? 2L : 0L);
    if (cluster.proxy_url.empty()) return;
    // socks5 resolves names at the proxy, as it does for kubectl.
    auto const& proxy = cluster.proxy_url;
    handle.set(CURLOPT_PROXY,
               (proxy.starts_with("socks5://") ? "socks5h" + proxy.substr(6) : proxy).c_str());
    handle.set(CURLOPT_NOPROXY, "");
}

void set_identity(EasyHandle& handle, Identity const& identity) {
    if (!identity.bearer_token.empty())
        handle.add_header("Authorization: Bearer " + identity.bearer_token);
    if (!identity.username.empty()) {
        handle.set(CURLOPT_HTTPAUTH, long(CURLAUTH_BASIC));
        handle.set(CURLOPT_USERNAME, identity.username.c_str());
        handle.set(CURLOPT_PASSWORD, identity.password.c_str());
    }
    if (!identity.client_certificate.empty()) {
        set_blob(handle, CURLOPT_SSLCERT_BLOB, identity.client_certificate);
        set_blob(handle, CURLOPT_SSLKEY_BLOB, identity.client_key);
    }
    if (!identity.impersonate.empty()) {
        handle.add_header("Impersonate-User: " + identity.impersonate);
        for (auto const& group : identity.impersonate_groups)
            handle.add_header("Impersonate-Group: " + group);
    }
}

}  // namespace

void EasyHandle::check(CURLcode code) {
    if (code != CURLE_OK) throw BackendError(text("libcurl: ", ::curl_easy_strerror(code)), code);
}

void EasyHandle::add_header(std::string const& line) {
    // A line break in a token would begin another header.
    if (line.find_first_of(std::string_view("\r\n\0", 3)) != line.npos)
        throw UsageError(
            text("the value of the header ", line.substr(0, line.find(':')),
                 " contains a line break. Is the token complete and alone in its file?"));
    auto* const longer = ::curl_slist_append(headers.get(), line.c_str());
    if (!longer) check(CURLE_OUT_OF_MEMORY);
    std::ignore = headers.release();
    headers.reset(longer);
}

EasyHandle make_easy_handle(ClusterAddress const& cluster, Identity const& identity,
                            std::string const& target) {
    EasyHandle made;
    made.easy.reset(::curl_easy_init());
    if (!made.easy) EasyHandle::check(CURLE_OUT_OF_MEMORY);
    set_address(made, cluster, target,
                !identity.bearer_token.empty() || !identity.password.empty());
    set_verification(made, cluster);
    set_identity(made, identity);
    made.set(CURLOPT_NOSIGNAL, 1L);
    made.set(CURLOPT_FOLLOWLOCATION, 0L);
    made.set(CURLOPT_HTTP_CONTENT_DECODING, 0L);
    made.set(CURLOPT_HTTP_VERSION, long(CURL_HTTP_VERSION_1_1));
    made.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    made.set(CURLOPT_SOCKOPTFUNCTION, &prepare_socket);
    made.set(CURLOPT_USERAGENT, text("sinew/", version()).c_str());
    return made;
}

}  // namespace sinew::k8s
