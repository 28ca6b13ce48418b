// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "launchers/docker/engine.hpp"

namespace sinew::launch::docker {

inline constexpr char job_label[] = "sinew.job";      ///< its name
inline constexpr char node_label[] = "sinew.node";    ///< number of the node
inline constexpr char ranks_label[] = "sinew.ranks";  ///< of the whole job
inline constexpr char owner_label[] = "sinew.owner";  ///< owner_of_process(), who removes it
inline constexpr char command_label[] = "sinew.command";
/// Where containers find this command (copy_command_folder()).
inline constexpr char command_target[] = "/opt/sinew-host";

/// Identifies this process among all that use an engine, and whether one so identified has certainly
/// ended: processes of other hosts and process namespaces are taken for alive.
std::string owner_of_process();
bool has_ended(std::string const& owner);
/// Its process number, if it lives and is of this host; 0: not known.
::pid_t process_of(std::string const& owner);

/// The folder of this host with a copy of this command, its libraries and loader, that runs in any
/// image. It is made when this file runs for the first time, below ~/.cache/sinew. Throws
/// SystemError and Unavailable.
std::string copy_command_folder();

/// What a job needs of the engine before its containers, from its constructor to its end.
class JobHost {
public:
    struct Wish {
        std::string job;  ///< its name
        std::string image;
        std::string pull;     ///< "Always", "Never"; empty: if it is missing
        std::string network;  ///< empty: one for this job
    };
    /// Pulls the image if need be, makes the network, and removes what jobs that were killed have
    /// left. `say` gets lines for the user. Throws Unavailable and UsageError.
    JobHost(Wish wish, std::function<void(std::string const& line)> const& say);
    JobHost(JobHost const&) = delete;
    /// Removes the job's network.
    ~JobHost();

    /// A container of this job, with all that is the same for each.
    ContainerSpec spec() const;
    /// The address of this host in the network; empty: not known.
    std::string const& gateway() const { return gateway_; }

private:
    void find_image(std::function<void(std::string const& line)> const& say) const;
    void join_network();
    void remove_leftovers() const;

    Wish const wish_;
    Engine const engine_;
    std::string const owner_;
    std::string network_, gateway_;
    bool removes_network_ = false;
};

}  // namespace sinew::launch::docker
