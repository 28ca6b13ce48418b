// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "k8s/client.hpp"
#include "launchers/kubernetes/log_lines.hpp"

namespace sinew::launch::kubernetes {

/// Follows the log of the pod of index 0, which has the output of all ranks, and gives its lines:
/// each exactly once, whatever happens to connections, and those of a pod's replacement after those
/// of the pod. Part of the callbacks of the client.
class RootLog {
public:
    /// `line` has no newline. `failed` is called for what repeating cannot help against, such as
    /// missing rights.
    RootLog(k8s::Client& client, std::string ns, std::function<void(std::string_view line)> line,
            std::function<void(std::exception_ptr)> failed);

    /// The pod has a log: its container runs, or has ended. May be called again. Another pod than
    /// that of the call before replaces it, and is followed when the log of the first has been read
    /// to its end, at the latest after some seconds. Calls for a pod that was replaced do nothing.
    void follow(std::string const& pod, bool ended);
    /// Whether another pod has replaced this one.
    bool replaced(std::string const& pod) const { return replaced_.contains(pod); }
    /// Whether the log of the last pod has been read to its end.
    bool complete() const { return complete_ && next_.empty(); }

private:
    void begin(std::string const& pod, bool ended);
    void begin_next();
    void open();
    void on_end(std::exception_ptr failure);

    k8s::Client& client_;
    std::string const ns_;
    std::function<void(std::string_view)> const line_;
    std::function<void(std::exception_ptr)> const failed_;
    std::set<std::string> replaced_;
    std::string pod_;
    bool pod_ended_ = false;  ///< no line will be added to the log
    std::string next_;        ///< that replaces it; empty: none
    bool next_ended_ = false;
    bool opened_after_end_ = false;
    bool complete_ = false;
    LogLines lines_;
    k8s::LogStream stream_;
    k8s::Registration retry_, patience_;
};

}  // namespace sinew::launch::kubernetes
