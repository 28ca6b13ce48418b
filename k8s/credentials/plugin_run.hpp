// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <exception>
#include <functional>
#include <string>

#include "k8s/config/configuration.hpp"
#include "k8s/http/http_loop.hpp"
#include "src/base/system/unique_fd.hpp"

namespace sinew::k8s {

/// A credential plugin that runs. The destructor kills it, with all processes of its group.
///
/// It has the terminal if it may ask its user something; Ctrl-C then goes to it alone.
class PluginRun {
public:
    /// Called within HttpLoop::turn, once, when the plugin has ended, with what it printed or why it
    /// failed (UsageError, Timeout). It must not destroy this object.
    using Ended = std::function<void(std::exception_ptr failure, std::string const& output)>;

    /// Starts it. Throws UsageError: it cannot be started, or must ask and cannot.
    PluginRun(HttpLoop& loop, ExecPlugin const& plugin, ClusterAddress const& cluster,
              std::chrono::milliseconds timeout, Ended ended);
    PluginRun(PluginRun const&) = delete;
    PluginRun& operator=(PluginRun const&) = delete;
    ~PluginRun();

private:
    void read(int fd, std::string& into, bool show);
    void drain();
    void finish(std::exception_ptr failure);
    void check_end();
    void return_terminal();

    ExecPlugin plugin_;
    std::chrono::milliseconds timeout_;
    Ended on_end_;
    UniqueFd out_, err_, process_ended_;
    Registration reads_out_, reads_err_, watches_end_, timer_;
    std::string output_, errors_;
    pid_t pid_ = 0, terminal_owner_ = 0;
    bool interactive_ = false;
};

}  // namespace sinew::k8s
