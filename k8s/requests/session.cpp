// SPDX-License-Identifier: Apache-2.0
#include "k8s/requests/session.hpp"

#include <algorithm>
#include <array>
#include <sinew/error.hpp>

#include "src/base/hex.hpp"
#include "src/base/text.hpp"

namespace sinew::k8s {
namespace {

std::string encoded(std::string_view text) {
    constexpr auto hex = "0123456789ABCDEF";
    std::string out;
    for (unsigned char const c : text)
        if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
            c == '-' || c == '_' || c == '.' || c == '~')
            out += char(c);
        else ((out += '%') += hex[c >> 4]) += hex[c & 15];
    return out;
}

std::string part(std::string const& name, char const* what) {
    if (name.empty() || name == "." || name == ".." || name.find('/') != name.npos)
        throw UsageError(text("\"", name, "\" cannot be the name of a ", what,
                              " (small letters, digits, '-' and '.')"));
    return encoded(name);
}

}  // namespace

Session::Session(Configuration from, ClientOptions with)
    : configuration(std::move(from)), options(std::move(with)),
      credential(loop, configuration, options.plugin_timeout), random(std::random_device()()) {}

Session::Clock::duration Session::delay(int attempt) {
    std::chrono::duration<double> const longest(
        std::min(10.0, 0.25 * double(1U << unsigned(std::clamp(attempt - 1, 0, 10)))));
    std::uniform_real_distribution<double> part_of(0.5, 1.0);
    return std::chrono::duration_cast<Clock::duration>(longest * part_of(random));
}

std::string target_of(Resource const& resource, std::string const& ns, std::string const& name,
                      std::string const& subresource, Query const& query) {
    std::string target = resource.group.empty()
                             ? text("/api/", resource.version)
                             : text("/apis/", resource.group, "/", resource.version);
    if (resource.namespaced) target += "/namespaces/" + part(ns, "namespace");
    target += text("/", resource.plural);
    if (!name.empty()) target += "/" + part(name, "resource");
    if (!subresource.empty()) target += "/" + subresource;
    char separator = '?';
    for (auto const& [key, value] : query) {
        ((target += separator) += key + "=") += encoded(value);
        separator = '&';
    }
    return target;
}

std::string random_id() {
    std::random_device source;
    std::array<std::uint32_t, 4> words{};
    for (auto& word : words) word = source();
    return to_hex(std::as_bytes(std::span(words)));
}

}  // namespace sinew::k8s
