// SPDX-License-Identifier: Apache-2.0
#include "launchers/docker/engine.hpp"

#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <sinew/error.hpp>
#include <string_view>
#include <utility>

#include "src/base/env.hpp"
#include "src/base/text.hpp"

namespace sinew::launch::docker {
namespace {

using EngineJson = nlohmann::json;
using namespace std::chrono_literals;

constexpr auto call_time = 60s;
constexpr auto pull_silence = 5min;  ///< the longest pause in the progress of a pull
constexpr auto for_ever = std::chrono::hours(24 * 365);
constexpr std::size_t longest_progress_line = std::size_t{1} << 20;
constexpr std::size_t shown_words = 500;  ///< of the engine, in messages

/// Versions of the API: what is used is in all from the least on, and the newest is the last whose
/// changes were looked at.
struct ApiVersion {
    int major = 0, minor = 0;
    auto operator<=>(ApiVersion const&) const = default;
    std::string words() const { return text(major, ".", minor); }
};
constexpr ApiVersion least_version{1, 40}, newest_version{1, 51};

ApiVersion parse_version(std::string const& words) {
    ApiVersion version;
    auto const* const end = words.data() + words.size();
    auto const first = std::from_chars(words.data(), end, version.major);
    if (first.ec != std::errc() || first.ptr == end || *first.ptr != '.') return {};
    if (std::from_chars(first.ptr + 1, end, version.minor).ec != std::errc()) return {};
    return version;
}

std::string percent_encoded(std::string_view words, std::string_view kept = "-_.~") {
    static constexpr char digits[] = "0123456789ABCDEF";
    std::string coded;
    for (unsigned char const c : words) {
        bool const plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                           (c >= 'A' && c <= 'Z') || kept.find(static_cast<char>(c)) != kept.npos;
        if (plain) coded += static_cast<char>(c);
        else {
            coded += '%';
            coded += digits[c >> 4];
            coded += digits[c & 15];
        }
    }
    return coded;
}

// What the engine says goes to terminals: without control characters, and not too long.
std::string shown(std::string words) {
    if (words.size() > shown_words) words.resize(shown_words);
    std::replace_if(
        words.begin(), words.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
    while (words.ends_with(' ')) words.pop_back();
    return words;
}

EngineJson parsed(std::string const& body) {
    auto json = EngineJson::parse(body, nullptr, false);
    if (json.is_discarded())
        throw Unavailable(
            text("the container engine's answer is no JSON (", shown(body.substr(0, 80)), ")"));
    return json;
}

// A text of an object that the engine has sent; empty: there is none.
std::string word_of(EngineJson const& json, char const* key) {
    if (!json.is_object()) return {};
    auto const found = json.find(key);
    return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::map<std::string, std::string> labels_of(EngineJson const& json) {
    std::map<std::string, std::string> labels;
    auto const found = json.find("Labels");
    if (found == json.end() || !found->is_object()) return labels;
    for (auto const& [key, value] : found->items())
        if (value.is_string()) labels.emplace(key, value.get<std::string>());
    return labels;
}

ListedNetwork network_of(EngineJson const& json) {
    ListedNetwork found{
        .id = word_of(json, "Id"), .name = word_of(json, "Name"), .gateway = {}, .labels = {}};
    if (json.is_object()) found.labels = labels_of(json);
    // Of IPv4, if it has both.
    if (json.is_object() && json.contains("IPAM") && json["IPAM"].is_object() &&
        json["IPAM"].contains("Config") && json["IPAM"]["Config"].is_array())
        for (auto const& each : json["IPAM"]["Config"]) {
            auto const gateway = word_of(each, "Gateway");
            if (found.gateway.empty() || found.gateway.find(':') != std::string::npos)
                if (!gateway.empty()) found.gateway = gateway;
        }
    return found;
}

std::string filters(std::vector<std::string> const& labels) {
    return percent_encoded(EngineJson{{"label", labels}}.dump());
}

// "name", "name:tag" or "name@digest", as the API wants it. Without a tag all would be pulled.
std::string image_query(std::string const& image) {
    if (image.find('@') != std::string::npos) return text("fromImage=", percent_encoded(image));
    auto const colon = image.rfind(':'), slash = image.rfind('/');
    bool const tagged = colon != std::string::npos && (slash == std::string::npos || colon > slash);
    return text("fromImage=", percent_encoded(image.substr(0, tagged ? colon : image.npos)),
                "&tag=", tagged ? percent_encoded(image.substr(colon + 1)) : "latest");
}

bool is_about_login(std::string const& words) {
    for (auto const* word : {"unauthorized", "authentication required", "access denied",
                             "docker login", "no basic auth", "denied:"})
        if (words.find(word) != std::string::npos) return true;
    return false;
}

[[noreturn]] void cannot_pull(std::string const& image, std::string const& words) {
    auto const remedy =
        is_about_login(words)
            ? text("sinew has no passwords of registries: say `docker login` and `docker pull ",
                   image, "` first, or check the name")
            : text("Is its name right? `docker pull ", image, "` shows more");
    throw Unavailable(
        text("the image ", image, " cannot be pulled (", shown(words), "). ", remedy));
}

// Gives the steps of a pull in lines; the counts of bytes would be too many.
void show_step(EngineJson const& line, std::set<std::string>& told,
               std::function<void(std::string const&)> const& progress) {
    auto const status = word_of(line, "status"), id = word_of(line, "id");
    if (status.empty() || status == "Downloading" || status == "Extracting" ||
        status == "Waiting" || status == "Verifying Checksum" || told.size() > 1000)
        return;
    auto const words = shown(id.empty() ? status : text(id, ": ", status));
    if (told.insert(words).second) progress(words);
}

}  // namespace

std::string engine_socket() {
    constexpr std::string_view scheme = "unix://";
    if (auto const host = env("DOCKER_HOST")) {
        if (!host->starts_with(scheme) || host->size() == scheme.size())
            throw UsageError(text("DOCKER_HOST=", *host,
                                  " (must be unix:///PATH: containers must be able to connect to "
                                  "this host). Unset it for /var/run/docker.sock"));
        return host->substr(scheme.size());
    }
    std::vector<std::string> places{"/var/run/docker.sock"};
    if (auto const runtime = env("XDG_RUNTIME_DIR")) {
        places.push_back(*runtime + "/docker.sock");
        places.push_back(*runtime + "/podman/podman.sock");
    }
    places.emplace_back("/run/podman/podman.sock");
    for (auto const& place : places)
        if (::access(place.c_str(), F_OK) == 0) return place;
    return places.front();
}

Engine::Engine(std::string socket) : socket_(std::move(socket)) {
    HttpConnection connection = open({.method = "GET", .target = "/_ping", .body = {}});
    int const status = connection.head(call_time);
    auto const words = connection.header("Api-Version");
    auto const body = connection.body(call_time);
    if (status != 200) refused({.status = status, .body = body}, "is not ready");
    auto const theirs = parse_version(words);
    if (theirs < least_version)
        throw Unavailable(text("the container engine at ", socket_, " has version ",
                               words.empty() ? "\"\"" : shown(words),
                               " of the Engine API (must be at least ", least_version.words(),
                               ": Docker 19.03, podman 3). Install a newer one"));
    version_ = std::min(theirs, newest_version).words();
}

HttpConnection Engine::open(HttpRequest request) const {
    if (!version_.empty()) request.target = text("/v", version_, request.target);
    try {
        HttpConnection connection(socket_);
        connection.send(request);
        return connection;
    } catch (SystemError const& problem) {
        int const number = problem.error_number();
        std::string remedy = "Start one, or name its socket by DOCKER_HOST=unix:///PATH";
        if (number == EACCES || number == EPERM)
            remedy =
                "Become a member of its group: sudo usermod -aG docker $USER, then log in "
                "again. Members can become root of this host";
        throw Unavailable(text("there is no container engine at ", socket_, " for this user (",
                               std::strerror(number), "). ", remedy));
    }
}

Engine::Reply Engine::call(HttpRequest request) const {
    auto connection = open(std::move(request));
    Reply reply;
    reply.status = connection.head(call_time);
    reply.body = connection.body(call_time);
    return reply;
}

void Engine::refused(Reply const& reply, std::string const& what, std::string const& remedy) const {
    auto const json = EngineJson::parse(reply.body, nullptr, false);
    auto words = json.is_discarded() ? std::string() : word_of(json, "message");
    if (words.empty()) words = reply.body;
    throw Unavailable(text("the container engine at ", socket_, " ", what, " (status ",
                           reply.status, words.empty() ? "" : ": ", shown(words), ")",
                           remedy.empty() ? "" : ". ", remedy));
}

bool Engine::has_image(std::string const& image) const {
    auto const reply = call({.method = "GET",
                             .target = text("/images/", percent_encoded(image, "-_.~/:@"), "/json"),
                             .body = {}});
    if (reply.status == 200) return true;
    if (reply.status == 404) return false;
    refused(reply, text("does not say whether it has the image ", image));
}

void Engine::pull(std::string const& image,
                  std::function<void(std::string const&)> const& progress) const {
    auto connection =
        open({.method = "POST", .target = text("/images/create?", image_query(image)), .body = {}});
    int const status = connection.head(pull_silence);
    if (status != 200) {
        auto const body = connection.body(call_time);
        auto const json = EngineJson::parse(body, nullptr, false);
        auto const words = json.is_discarded() ? std::string() : word_of(json, "message");
        cannot_pull(image, words.empty() ? text("status ", status, " ", body) : words);
    }
    // The status was sent before the pull: whether it succeeds is in the lines.
    std::set<std::string> told;
    std::string lines;
    for (auto piece = connection.piece(pull_silence); piece;
         piece = connection.piece(pull_silence)) {
        lines += *piece;
        for (std::size_t end = 0; (end = lines.find('\n')) != std::string::npos;) {
            auto const line = EngineJson::parse(lines.substr(0, end), nullptr, false);
            lines.erase(0, end + 1);
            if (line.is_discarded()) continue;
            if (auto const error = word_of(line, "error"); !error.empty())
                cannot_pull(image, error);
            show_step(line, told, progress);
        }
        if (lines.size() > longest_progress_line)
            throw Unavailable("the container engine's progress of a pull has a line of 1 MiB");
    }
    auto const rest = EngineJson::parse(lines, nullptr, false);
    if (!rest.is_discarded())
        if (auto const error = word_of(rest, "error"); !error.empty()) cannot_pull(image, error);
    if (!has_image(image)) cannot_pull(image, "it has ended, and the image is not there");
}

std::string Engine::create(ContainerSpec const& spec) const {
    auto const reply = call({.method = "POST",
                             .target = "/containers/create?name=" + percent_encoded(spec.name),
                             .body = create_body(spec)});
    if (reply.status == 201)
        if (auto id = word_of(parsed(reply.body), "Id"); !id.empty()) return id;
    refused(reply, text("does not make a container of ", spec.image));
}

UniqueFd Engine::attach(std::string const& id, std::string& arrived) const {
    auto connection =
        open({.method = "POST",
              .target = text("/containers/", id, "/attach?stream=1&stdin=1&stdout=1&stderr=1"),
              .body = {},
              .upgrade = true});
    // 200 is the answer of engines that do not speak of an upgrade.
    if (int const status = connection.head(call_time); status != 101 && status != 200)
        refused({.status = status, .body = connection.body(call_time)}, "attaches to no container");
    return connection.release(arrived);
}

HttpConnection Engine::wait_removed(std::string const& id) const {
    return open({.method = "POST",
                 .target = text("/containers/", id, "/wait?condition=removed"),
                 .body = {}});
}

int Engine::exit_code_of(HttpConnection& waiting) {
    int const status = waiting.head(for_ever);
    auto const body = waiting.body(for_ever);
    auto const json = EngineJson::parse(body, nullptr, false);
    if (status != 200 || json.is_discarded() || !json.is_object() || !json.contains("StatusCode") ||
        !json["StatusCode"].is_number_integer())
        throw Unavailable(
            text("the container engine does not say how the container has ended "
                 "(status ",
                 status, ": ", shown(body), ")"));
    return static_cast<int>(json["StatusCode"].get<std::int64_t>() & 255);
}

void Engine::start(std::string const& id, ContainerSpec const& spec) const {
    auto const reply =
        call({.method = "POST", .target = text("/containers/", id, "/start"), .body = {}});
    if (reply.status == 204 || reply.status == 304) return;
    auto const says = [&](char const* word) { return reply.body.find(word) != std::string::npos; };
    std::string remedy;
    if (says("no such file") || says("not found in $PATH") || says("permission denied"))
        remedy = text("Is ", spec.command.front(),
                      " in the image, for its processors? A folder of this host is mounted by "
                      "--mount");
    if (says("docker-init") || says("catatonit"))
        remedy = "The engine's init is missing. Debian: apt-get install tini, for podman catatonit";
    if (says("could not select device driver") || says("nvidia"))
        remedy = "GPUs need the NVIDIA Container Toolkit on this host";
    refused(reply, "does not start " + spec.name, remedy);
}

bool Engine::kill(std::string const& id, std::string const& signal) const {
    auto const reply = call({.method = "POST",
                             .target = text("/containers/", id, "/kill?signal=", signal),
                             .body = {}});
    if (reply.status == 204) return true;
    if (reply.status == 404 || reply.status == 409) return false;
    refused(reply, "sends no signal");
}

void Engine::remove(std::string const& id) const {
    auto const reply =
        call({.method = "DELETE", .target = text("/containers/", id, "?force=1&v=1"), .body = {}});
    // 404: it is gone; 409: it is being removed.
    if (reply.status != 204 && reply.status != 200 && reply.status != 404 && reply.status != 409)
        refused(reply, "removes no container");
}

std::vector<ListedContainer> Engine::list(std::vector<std::string> const& labels) const {
    auto const reply = call({.method = "GET",
                             .target = "/containers/json?all=1&filters=" + filters(labels),
                             .body = {}});
    if (reply.status != 200) refused(reply, "does not list containers");
    std::vector<ListedContainer> found;
    for (auto const& each : parsed(reply.body)) {
        if (!each.is_object()) continue;
        ListedContainer container{.id = word_of(each, "Id"),
                                  .name = {},
                                  .image = word_of(each, "Image"),
                                  .state = word_of(each, "State"),
                                  .labels = labels_of(each)};
        if (each.contains("Names") && each["Names"].is_array() && !each["Names"].empty() &&
            each["Names"][0].is_string())
            container.name = each["Names"][0].get<std::string>();
        if (container.name.starts_with('/')) container.name.erase(0, 1);
        if (each.contains("Created") && each["Created"].is_number_integer())
            container.created = each["Created"].get<std::int64_t>();
        found.push_back(std::move(container));
    }
    return found;
}

HttpConnection Engine::logs(std::string const& id, bool follow, int tail) const {
    auto connection =
        open({.method = "GET",
              .target = text("/containers/", id, "/logs?stdout=1&stderr=1&follow=", follow ? 1 : 0,
                             "&tail=", tail < 0 ? std::string("all") : std::to_string(tail)),
              .body = {}});
    if (int const status = connection.head(call_time); status != 200)
        refused({.status = status, .body = connection.body(call_time)}, "shows no output");
    return connection;
}

ListedNetwork Engine::make_network(std::string const& name,
                                   std::map<std::string, std::string> const& labels) const {
    EngineJson const body{
        {"Name", name}, {"Driver", "bridge"}, {"CheckDuplicate", true}, {"Labels", labels}};
    auto const reply = call({.method = "POST", .target = "/networks/create", .body = body.dump()});
    if (reply.status != 201 && reply.status != 409)
        refused(reply, "makes no network",
                "--network bridge uses the one that all containers share");
    return network(name);
}

ListedNetwork Engine::network(std::string const& name) const {
    auto const reply =
        call({.method = "GET", .target = "/networks/" + percent_encoded(name), .body = {}});
    if (reply.status != 200)
        refused(reply, "has no network " + name, "`docker network ls` lists them");
    return network_of(parsed(reply.body));
}

std::vector<ListedNetwork> Engine::networks(std::string const& label) const {
    auto const reply =
        call({.method = "GET", .target = "/networks?filters=" + filters({label}), .body = {}});
    if (reply.status != 200) refused(reply, "does not list networks");
    std::vector<ListedNetwork> found;
    for (auto const& each : parsed(reply.body)) found.push_back(network_of(each));
    return found;
}

bool Engine::remove_network(std::string const& name) const {
    auto const reply =
        call({.method = "DELETE", .target = "/networks/" + percent_encoded(name), .body = {}});
    if (reply.status == 204 || reply.status == 200 || reply.status == 404) return true;
    if (reply.status == 403 || reply.status == 409) return false;
    // Docker's answer for one with containers in it has been 500, too.
    if (reply.body.find("active endpoints") != std::string::npos) return false;
    refused(reply, text("does not remove the network ", name));
}

}  // namespace sinew::launch::docker
