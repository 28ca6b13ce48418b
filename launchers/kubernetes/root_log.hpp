// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <string_view>

#include "k8s/client.hpp"

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

    /// The pod has a log: its container runs, or has ended. May be called again, and with another
    /// pod.
    void follow(std::string const& pod, bool ended);
    /// Whether the log of this pod has been read to its end.
    bool complete(std::string const& pod) const { return complete_ && pod == pod_; }

private:
    void open();
    void on_data(std::string_view data);
    void on_line(std::string_view line);
    void on_end(std::exception_ptr failure);

    k8s::Client& client_;
    std::string const ns_;
    std::function<void(std::string_view)> const line_;
    std::function<void(std::exception_ptr)> const failed_;
    std::string pod_;
    bool pod_ended_ = false;  ///< no line will be added to the log
    bool opened_after_end_ = false;
    bool complete_ = false;
    std::string partial_;     ///< a line whose end has not arrived
    std::string last_time_;   ///< of the last line given
    int with_last_time_ = 0;  ///< lines given that have this time
    int to_skip_ = 0;         ///< of them, after reopening
    k8s::LogStream stream_;
    k8s::Registration retry_;
};

}  // namespace sinew::launch::kubernetes
