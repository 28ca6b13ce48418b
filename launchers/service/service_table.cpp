// SPDX-License-Identifier: Apache-2.0
#include "launchers/service/service_table.hpp"

#include <set>
#include <sinew/error.hpp>
#include <sstream>

#include "src/base/text.hpp"

namespace sinew::launch::service {

void ServiceTable::announce(ServiceEntry const& service, Time now) {
    forget_expired(now);
    if (by_address_.size() >= most_services && by_address_.count(service.address) == 0)
        throw UsageError(text("the registry has ", most_services, " services already"));
    by_address_[service.address] = {service, now + expiry_};
}

std::vector<ServiceEntry> ServiceTable::services(Time now) {
    forget_expired(now);
    std::vector<ServiceEntry> all;
    for (auto const& [address, known] : by_address_) all.push_back(known.service);
    return all;
}

void ServiceTable::forget_expired(Time now) {
    std::erase_if(by_address_, [&](auto const& each) { return each.second.expires <= now; });
}

std::vector<ServiceEntry> find_services(std::vector<ServiceEntry> const& services,
                                        std::string_view name) {
    auto const wanted = service_name(name);
    std::vector<ServiceEntry> found;
    for (auto const& service : services)
        for (auto const& each : service.names)
            if (each == wanted) {
                found.push_back(service);
                break;
            }
    return found;
}

std::string names_of(std::vector<ServiceEntry> const& services) {
    std::set<std::string> names;
    for (auto const& service : services) names.insert(service.names.begin(), service.names.end());
    std::string list;
    for (auto const& name : names) list += text(list.empty() ? "" : ", ", name);
    return list.empty() ? "none" : list;
}

std::vector<ServiceEntry> parse_services(std::string_view content, std::string const& path) {
    std::vector<ServiceEntry> services;
    std::istringstream lines{std::string(content)};
    int number = 0;
    for (std::string line; std::getline(lines, line);) {
        ++number;
        std::istringstream words(line.substr(0, line.find('#')));
        ServiceEntry service;
        if (!(words >> service.address)) continue;
        try {
            check_service_address(service.address);
            for (std::string name; words >> name;) service.names.push_back(service_name(name));
            if (service.names.empty()) throw UsageError("no name (must be HOST:PORT NAME...)");
        } catch (UsageError const& problem) {
            throw UsageError(text(path, ":", number, ": ", problem.what()));
        }
        services.push_back(std::move(service));
    }
    return services;
}

}  // namespace sinew::launch::service
