// SPDX-License-Identifier: Apache-2.0
#include "launchers/command_line/hosts/hostfile.hpp"

#include <algorithm>
#include <cctype>
#include <optional>

#include <sinew/error.hpp>

#include "launchers/command_line/values.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

constexpr int most_slots = 1'000'000;

[[noreturn]] void bad(std::string const& origin, std::string const& why) {
    throw UsageError(text(origin, " (", why, ")"));
}

int slots_of(std::string_view number, std::string_view name, std::string const& origin) {
    if (auto const slots = parse_int(number, 1, most_slots)) return *slots;
    bad(origin, text(name, number, " must be a whole number from 1 to ", most_slots));
}

/// Parses "host", "host:4", "host:*", "user@host:4", "[::1]:4"; `bare` slots without a number.
HostRequest parse_host(std::string_view word, int bare, std::string const& origin) {
    std::string user;
    if (auto const at = word.rfind('@'); at != std::string_view::npos) {
        user = word.substr(0, at + 1);
        word.remove_prefix(at + 1);
    }
    std::string_view name, rest;
    if (word.substr(0, 1) == "[") {
        auto const end = word.find(']');
        if (end == std::string_view::npos) bad(origin, "no ] after [");
        name = word.substr(1, end - 1);
        rest = word.substr(end + 1);
        if (!rest.empty() && rest.front() != ':') bad(origin, "expected :N after ]");
    } else {
        auto const colon = std::min(word.find(':'), word.size());
        name = word.substr(0, colon);
        rest = word.substr(colon);
        if (rest.find(':', 1) != std::string_view::npos)
            bad(origin, text("IPv6 addresses go in brackets: [", word, "]"));
    }
    HostRequest host{user + std::string(name), bare, 0};
    check_host(host.host, origin);
    if (rest == ":*") host.slots = 0;
    else if (!rest.empty()) host.slots = slots_of(rest.substr(1), ":", origin);
    return host;
}

std::string without_host_comment(std::string_view line) {
    return std::string(trim(line.substr(0, std::min(line.find('#'), line.size()))));
}

/// Splits at blanks, but keeps "slots = 4" as one word.
std::vector<std::string> words_of(std::string_view line) {
    std::vector<std::string> words;
    bool joins = false;
    for (std::size_t at = 0; at < line.size();) {
        std::size_t const begin = line.find_first_not_of(" \t\r", at);
        if (begin == std::string_view::npos) break;
        std::size_t const end = std::min(line.find_first_of(" \t\r", begin), line.size());
        std::string_view const word = line.substr(begin, end - begin);
        if (!words.empty() && (joins || word.front() == '=')) words.back() += word;
        else words.emplace_back(word);
        joins = word.back() == '=';
        at = end;
    }
    return words;
}

HostRequest parse_line(std::string_view line, std::string const& origin) {
    std::vector<std::string> const words = words_of(line);
    HostRequest host = parse_host(words.front(), 0, origin);
    for (std::size_t i = 1; i < words.size(); ++i) {
        std::size_t const equals = std::min(words[i].find('='), words[i].size());
        std::string const key = words[i].substr(0, equals);
        std::string const value = words[i].substr(std::min(equals + 1, words[i].size()));
        if (key == "slots" || key == "cpus" || key == "count") {
            if (host.slots != 0) bad(origin, "its slots are given twice");
            host.slots = slots_of(value, key + "=", origin);
        } else if (key == "max_slots" || key == "max-slots") {
            host.max_slots = slots_of(value, key + "=", origin);
        } else if (key == "user" || key == "username") {
            if (host.host.find('@') != std::string::npos) bad(origin, "its user is given twice");
            host.host = value + "@" + host.host;
            check_host(host.host, origin);
        } else {
            bad(origin,
                text("unknown: ", words[i], "; expected slots=N, max_slots=N or user=NAME"));
        }
    }
    if (host.max_slots != 0 && host.max_slots < host.slots)
        bad(origin, text("max_slots=", host.max_slots, " is less than its ", host.slots, " slots"));
    return host;
}

std::string_view name_of(std::string_view host) {
    return host.substr(host.rfind('@') + 1);  // npos + 1 is 0
}

}  // namespace

void check_host(std::string_view host, std::string const& origin) {
    auto const good = [](char c) {
        auto const byte = static_cast<unsigned char>(c);
        return byte < 0x80 &&
               (std::isalnum(byte) || std::string_view("._-:%").find(c) != std::string_view::npos);
    };
    std::string_view user, name = host;
    if (auto const at = host.rfind('@'); at != std::string_view::npos) {
        user = host.substr(0, at);
        name = host.substr(at + 1);
        if (user.empty()) bad(origin, "no user before the @");
    }
    if (name.empty()) bad(origin, "no host");
    for (std::string_view const part : {user, name})
        if (!std::all_of(part.begin(), part.end(), good) || part.substr(0, 1) == "-")
            bad(origin, text("not a valid host name: ", host));
}

std::vector<HostRequest> parse_hostfile(std::string_view content, std::string const& name) {
    std::vector<HostRequest> hosts;
    std::size_t number = 0;
    for (std::string const& line : split(content, '\n')) {
        ++number;
        std::string const words = without_host_comment(line);
        if (!words.empty())
            hosts.push_back(parse_line(words, text(name, ":", number, ": ", words)));
    }
    return hosts;
}

std::vector<HostRequest> read_hostfile(std::string const& path) {
    std::vector<HostRequest> hosts = parse_hostfile(read_text(path, "hostfile"), path);
    if (hosts.empty())
        throw UsageError(
            text("hostfile ", path, " names no host. Write one on each line: ", "node1 slots=4"));
    return hosts;
}

std::vector<HostRequest> parse_host_list(std::string_view list, std::string const& origin,
                                         int bare_slots) {
    std::vector<HostRequest> hosts;
    for (std::string const& part : split(list, ','))
        hosts.push_back(parse_host(trim(part), bare_slots, origin));
    return hosts;
}

std::vector<HostRequest> select_hosts(std::vector<HostRequest> const& file,
                                      std::vector<HostRequest> const& wanted,
                                      std::string const& origin) {
    std::vector<HostRequest> hosts;
    for (HostRequest const& host : wanted) {
        bool found = false;
        for (HostRequest const& known : file) {
            if (name_of(known.host) != name_of(host.host)) continue;
            // The number of slots of -H replaces all entries of this host in the file.
            if (host.slots != 0 && found) continue;
            if (known.max_slots != 0 && host.slots > known.max_slots)
                bad(origin,
                    text("the hostfile allows ", host.host, " only max_slots=", known.max_slots));
            hosts.push_back(known);
            if (host.slots != 0) hosts.back().slots = host.slots;
            if (host.host.find('@') != std::string::npos) hosts.back().host = host.host;
            found = true;
        }
        if (!found) bad(origin, text(host.host, " is not in the hostfile"));
    }
    return hosts;
}

}  // namespace sinew::launch
