// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sinew::k8s {

/// A command to execute in a container.
struct ExecRequest {
    std::string pod;
    std::string container = {};  ///< empty: the pod's only one
    std::string ns = {};         ///< empty: the configuration's
    std::vector<std::string> command;
    bool input = false;
    bool terminal = false;  ///< its output and errors come as one
};

/// A command that runs in a container. While it is paused, no output is delivered; at most 256 KiB
/// are kept, and the command has to wait.
class ExecStream {
public:
    enum class Output { out, err };
    class Body;

    ExecStream();
    explicit ExecStream(std::shared_ptr<Body> body);
    ExecStream(ExecStream&&) noexcept;
    ExecStream& operator=(ExecStream&&) noexcept;
    /// Ends the connection; no callback is called any more. The server then ends the command's
    /// input, not the command.
    ~ExecStream();
    explicit operator bool() const { return body_ != nullptr; }

    /// Queues input. The return value is how many bytes wait to be sent: if there are many, wait for
    /// `drained`.
    std::size_t write(std::string_view data);
    void on_drained(std::function<void()> drained);
    /// Ends the input after what was written. Servers before Kubernetes 1.30 cannot: false.
    bool close_input();
    void resize(int columns, int rows);
    void pause();
    void resume();

private:
    std::shared_ptr<Body> body_;
};

}  // namespace sinew::k8s
