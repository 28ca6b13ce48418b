// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <curl/curl.h>

#include <memory>
#include <string>

#include "k8s/http/transfer.hpp"

namespace sinew::k8s {

struct EasyCleanup {
    void operator()(CURL* easy) const { ::curl_easy_cleanup(easy); }
    void operator()(curl_slist* list) const { ::curl_slist_free_all(list); }
};

/// A handle of libcurl that knows the server, how to verify it, and who asks. The request is not in
/// it yet. For the sources of this folder only.
struct EasyHandle {
    std::unique_ptr<CURL, EasyCleanup> easy;
    std::unique_ptr<curl_slist, EasyCleanup> headers, connect_to;
    std::string host;  ///< for the header Host

    void add_header(std::string const& line);
    /// Throws BackendError if libcurl does not know the option.
    template <class Value>
    void set(CURLoption option, Value value) {
        check(::curl_easy_setopt(easy.get(), option, value));
    }
    static void check(CURLcode code);
};

/// Throws UsageError: the server's URL is wrong, or secrets would be sent without TLS.
EasyHandle make_easy_handle(ClusterAddress const& cluster, Identity const& identity,
                            std::string const& target);

}  // namespace sinew::k8s
