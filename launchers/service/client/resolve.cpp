// SPDX-License-Identifier: Apache-2.0
#include "launchers/service/client/resolve.hpp"

#include <netdb.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <sinew/error.hpp>

#include "launchers/command_line/values.hpp"
#include "launchers/service/client/connection.hpp"
#include "launchers/service/key_file.hpp"
#include "launchers/service/service_table.hpp"
#include "src/base/text.hpp"

namespace sinew::launch::service {
namespace {

constexpr auto registry_patience = std::chrono::seconds(5);

std::vector<ServiceEntry> services_of_file(std::string const& given) {
    auto path = given;
    if (path.empty()) {
        try {
            path = configuration_folder() + "/services";
        } catch (UsageError const&) {
            return {};  // without a home folder
        }
        if (::access(path.c_str(), F_OK) != 0) return {};
    }
    return parse_services(read_text(path, "the file of services"), path);
}

std::vector<ServiceEntry> services_of_registry(std::string const& registry,
                                               wire::Secret const& key) {
    if (registry.empty()) return {};
    try {
        Connection connection(with_port(registry, default_registry_port), key, registry_patience);
        connection.send({.verb = ClientRequest::Verb::services});
        return connection.answer().services;
    } catch (PeerLost const& problem) {
        throw Unavailable(text("the registry ", registry, " cannot be asked: ", problem.what()));
    }
}

bool has_port(std::string_view word) {
    auto const colon = word.rfind(':');
    if (colon == word.npos) return false;
    // An address of IPv6 without brackets has several.
    return word.front() == '[' ? word[colon - 1] == ']' : word.find(':') == colon;
}

// Asks the system's resolver, which gives up after some seconds.
bool is_host(std::string const& name) {
    addrinfo* found = nullptr;
    bool const is = ::getaddrinfo(name.c_str(), nullptr, nullptr, &found) == 0;
    if (is) ::freeaddrinfo(found);
    return is;
}

bool may_be_service(std::string_view word) {
    try {
        static_cast<void>(service_name(word));
        return true;
    } catch (UsageError const&) {
        return false;
    }
}

}  // namespace

std::string with_port(std::string_view host, int port) {
    if (host.empty()) throw UsageError("a host that is empty (must be HOST or HOST:PORT)");
    std::string address(host);
    if (!has_port(host)) {
        bool const bare_v6 = host.find(':') != host.npos && host.front() != '[';
        address = bare_v6 ? text("[", host, "]:", port) : text(host, ":", port);
    }
    check_service_address(address);
    return address;
}

std::vector<ServiceEntry> known_services(ServiceSources const& sources, wire::Secret const& key) {
    auto services = services_of_file(sources.file);
    for (auto& each : services_of_registry(sources.registry, key))
        services.push_back(std::move(each));
    return services;
}

std::vector<std::string> resolve_servers(std::string_view list, ServiceSources const& sources,
                                         wire::Secret const& key) {
    std::vector<std::string> addresses;
    std::optional<std::vector<ServiceEntry>> services;
    for (auto const& part : split(list, ',')) {
        auto const word = std::string(trim(part));
        if (word.empty())
            throw UsageError(text("--at ", list, " (must be hosts or services, by commas)"));
        std::vector<ServiceEntry> found;
        if (!has_port(word) && may_be_service(word)) {
            if (!services) services = known_services(sources, key);
            found = find_services(*services, word);
            if (found.empty() && !is_host(word))
                throw Unavailable(text("there is no service and no host ", word,
                                       " (services: ", names_of(*services),
                                       "). See --registry and ~/.config/sinew/services"));
        }
        if (found.empty()) addresses.push_back(with_port(word, default_port));
        for (auto const& each : found) addresses.push_back(each.address);
    }
    return addresses;
}

}  // namespace sinew::launch::service
