// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

namespace sinew::k8s {

struct ClientOptions {
    std::chrono::milliseconds connect_timeout = std::chrono::seconds(10);
    /// Of one attempt, from the request to the last byte of the answer.
    std::chrono::milliseconds attempt_timeout = std::chrono::seconds(30);
    /// Of a call with all its attempts.
    std::chrono::milliseconds call_timeout = std::chrono::seconds(60);
    std::size_t max_answer = std::size_t(64) << 20;  ///< bytes of one answer (of a list: one page)
    std::size_t max_list = std::size_t(512) << 20;   ///< bytes of all pages of a list
    int page_size = 500;                             ///< objects in a page
    std::string create_annotation = "sinew/create-id";
    /// Asked at each turn of a blocking call; true ends it with Unavailable ("interrupted").
    std::function<bool()> interrupted = {};
    /// Of a credential plugin, which may ask its user something.
    std::chrono::milliseconds plugin_timeout = std::chrono::seconds(60);
};

}  // namespace sinew::k8s
