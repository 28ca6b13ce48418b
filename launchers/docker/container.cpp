// SPDX-License-Identifier: Apache-2.0
#include "launchers/docker/container.hpp"

#include <nlohmann/json.hpp>
#include <sinew/error.hpp>

namespace sinew::launch::docker {
namespace {

using SpecJson = nlohmann::json;

// Paths may have bytes that are not UTF-8, which the engine could not take either.
std::string dumped(SpecJson const& json) {
    return json.dump(-1, ' ', false, SpecJson::error_handler_t::replace);
}

}  // namespace

std::string spec_text(ContainerSpec const& spec) {
    auto mounts = SpecJson::array();
    for (auto const& each : spec.mounts)
        mounts.push_back({each.source, each.target, each.read_only});
    return dumped({{"socket", spec.socket},
                   {"name", spec.name},
                   {"hostname", spec.hostname},
                   {"image", spec.image},
                   {"command", spec.command},
                   {"env", spec.env},
                   {"folder", spec.folder},
                   {"user", spec.user},
                   {"mounts", mounts},
                   {"network", spec.network},
                   {"removes_network", spec.removes_network},
                   {"nano_cpus", spec.nano_cpus},
                   {"memory", spec.memory},
                   {"shm", spec.shm},
                   {"gpus", spec.gpus},
                   {"all_gpus", spec.all_gpus},
                   {"labels", spec.labels}});
}

ContainerSpec parse_spec(std::string const& text) try {
    auto const json = SpecJson::parse(text);
    ContainerSpec spec;
    json.at("socket").get_to(spec.socket);
    json.at("name").get_to(spec.name);
    json.at("hostname").get_to(spec.hostname);
    json.at("image").get_to(spec.image);
    json.at("command").get_to(spec.command);
    json.at("env").get_to(spec.env);
    json.at("folder").get_to(spec.folder);
    json.at("user").get_to(spec.user);
    for (auto const& each : json.at("mounts"))
        spec.mounts.push_back({.source = each.at(0).get<std::string>(),
                               .target = each.at(1).get<std::string>(),
                               .read_only = each.at(2).get<bool>()});
    json.at("network").get_to(spec.network);
    json.at("removes_network").get_to(spec.removes_network);
    json.at("nano_cpus").get_to(spec.nano_cpus);
    json.at("memory").get_to(spec.memory);
    json.at("shm").get_to(spec.shm);
    json.at("gpus").get_to(spec.gpus);
    json.at("all_gpus").get_to(spec.all_gpus);
    json.at("labels").get_to(spec.labels);
    if (spec.command.empty()) throw UsageError("a container's description has no command");
    return spec;
} catch (SpecJson::exception const&) {
    throw UsageError(
        "a container's description cannot be read. sinew container is started by sinew run, not by "
        "hand");
}

std::string create_body(ContainerSpec const& spec) {
    auto mounts = SpecJson::array();
    for (auto const& each : spec.mounts)
        mounts.push_back({{"Type", "bind"},
                          {"Source", each.source},
                          {"Target", each.target},
                          {"ReadOnly", each.read_only}});
    SpecJson host{{"NetworkMode", spec.network},
                  {"AutoRemove", true},
                  // Reaps what the ranks leave behind, and passes signals on.
                  {"Init", true},
                  {"Mounts", mounts}};
    if (spec.nano_cpus > 0) host["NanoCpus"] = spec.nano_cpus;
    if (spec.memory > 0) host["Memory"] = spec.memory;
    if (spec.shm > 0) host["ShmSize"] = spec.shm;
    if (spec.all_gpus || !spec.gpus.empty()) {
        SpecJson request{{"Driver", ""},
                         {"Capabilities", SpecJson::array({SpecJson::array({"gpu"})})}};
        if (spec.all_gpus) request["Count"] = -1;
        else request["DeviceIDs"] = spec.gpus;
        host["DeviceRequests"] = SpecJson::array({request});
    }
    // In place of the image's, which may be a shell script around its command.
    auto const first = SpecJson::array({spec.command.front()});
    std::vector<std::string> const rest(spec.command.begin() + 1, spec.command.end());
    SpecJson body{{"Image", spec.image},  {"Entrypoint", first},   {"Cmd", rest},
                  {"Env", spec.env},      {"Labels", spec.labels}, {"OpenStdin", true},
                  {"StdinOnce", true},    {"AttachStdin", true},   {"AttachStdout", true},
                  {"AttachStderr", true}, {"Tty", false},          {"HostConfig", host}};
    // With the network "host" the engine refuses a name of its own.
    if (spec.network != "host") body["Hostname"] = spec.hostname;
    if (!spec.folder.empty()) body["WorkingDir"] = spec.folder;
    if (!spec.user.empty()) body["User"] = spec.user;
    return dumped(body);
}

}  // namespace sinew::launch::docker
