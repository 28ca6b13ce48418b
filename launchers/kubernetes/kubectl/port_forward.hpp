// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "k8s/client.hpp"
#include "launchers/command_line/kubernetes_options.hpp"
#include "launchers/program/child_program.hpp"

namespace sinew::launch::kubernetes {

/// A `kubectl port-forward` that listens on an address of this host, and carries each connection to
/// a port of the loopback interface of a pod. Whoever reaches that address reaches the port.
///
/// Part of the callbacks of the client. The destructor ends kubectl, and with it all connections.
class PortForward {
public:
    struct Route {
        std::string pod, ns;
        std::string address = "127.0.0.1";  ///< an IP address of this host
        std::uint16_t local = 0;            ///< 0: any free one
        std::uint16_t remote = 0;
        std::chrono::seconds patience = std::chrono::seconds(30);  ///< until kubectl listens
    };
    /// Each is called at most once, and may destroy this object.
    struct Callbacks {
        std::function<void(std::uint16_t local)> listens;
        /// kubectl has ended, or was ended as it did not listen in time; why, in one line.
        std::function<void(std::string const& why)> ended;
    };
    /// Throws SystemError if kubectl cannot be executed.
    PortForward(k8s::Client& client, KubernetesOptions const& options, Route route,
                Callbacks callbacks);
    PortForward(PortForward const&) = delete;

private:
    /// Appends what one read() gives; false if that is nothing.
    bool read_some(int fd, std::string& into);
    /// Reads what there is, and keeps its end: of errors, that says why kubectl ends.
    void read_end(int fd, std::string& into);
    /// Of the output, of which the rest is not read yet. No value: the line has not come as a whole.
    std::optional<std::string> first_line();
    void on_output();
    void on_line(std::string const& line);
    void on_exit();
    void finish(std::string const& why);

    Route const route_;
    Callbacks callbacks_;
    UniqueFd out_, err_;
    std::string output_, errors_;
    std::unique_ptr<ChildProgram> child_;
    k8s::Registration reads_out_, reads_err_, exits_, deadline_;
};

}  // namespace sinew::launch::kubernetes
