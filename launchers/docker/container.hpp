// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "launchers/common/bind_mount.hpp"

namespace sinew::launch::docker {

/// What a container is made of. None of it is secret: everyone who may ask the engine sees it.
struct ContainerSpec {
    std::string socket;  ///< of the engine
    std::string name;
    std::string hostname;
    std::string image;
    std::vector<std::string> command;
    std::vector<std::string> env;  ///< "NAME=value"
    std::string folder;            ///< working directory; empty: the image's
    std::string user;              ///< empty: the image's
    std::vector<BindMount> mounts;
    std::string network;
    bool removes_network = false;  ///< if its owner has been killed
    std::int64_t nano_cpus = 0;    ///< billionths of a processor; 0: no limit
    std::int64_t memory = 0;       ///< bytes; 0: no limit
    std::int64_t shm = 0;          ///< bytes of /dev/shm; 0: the engine's default (64 MiB)
    std::vector<std::string> gpus;
    bool all_gpus = false;
    std::map<std::string, std::string> labels;
};

/// One line of JSON, and back. Throws UsageError.
std::string spec_text(ContainerSpec const& spec);
ContainerSpec parse_spec(std::string const& text);

/// The body of the Engine API's ContainerCreate.
std::string create_body(ContainerSpec const& spec);

}  // namespace sinew::launch::docker
