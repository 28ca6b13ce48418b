// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>

#include "src/base/system/unique_fd.hpp"
#include "src/nodes/acquire/backend_protocol.hpp"
#include "src/wire/loop/loop.hpp"

namespace sinew::nodes {

/// The child `sinew acquire`, which speaks with the backend. It gives everything back and ends when
/// its standard input ends: by close(), or when this process is gone. Requires: guard held.
class BackendProcess : public std::enable_shared_from_this<BackendProcess> {
public:
    struct Callbacks {
        std::function<void(BackendEvent const&)> event;
        /// Called once, last: "sinew acquire (pid 4711) was killed by signal 9 (Killed)".
        std::function<void(std::string const& how)> ended;
    };
    BackendProcess(wire::Loop& loop, Callbacks callbacks);
    BackendProcess(BackendProcess const&) = delete;
    /// Starts it; its standard error is ours. Throws SystemError.
    void start();
    /// Sends a line.
    void tell(std::string const& line);
    /// Asks it to give everything back. It is not waited for; nothing is called any more.
    void close();

private:
    void write();
    bool read();
    void on_end();

    wire::Loop& loop_;
    Callbacks callbacks_;
    pid_t pid_ = 0;
    UniqueFd in_, out_, ended_;
    std::string to_write_, line_;
    wire::Loop::Handle writing_, reading_, ending_;
};

}  // namespace sinew::nodes
