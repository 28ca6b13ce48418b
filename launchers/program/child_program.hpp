// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "src/base/system/unique_fd.hpp"

namespace sinew::launch {

/// A program that is searched in PATH and runs with this process's environment, in a process group
/// of its own. It gets SIGTERM if the thread that started it ends. Not thread-safe.
class ChildProgram {
public:
    struct Streams {
        int in = -1, out = -1, err = -1;  ///< -1: /dev/null for `in`, ours for the others
    };
    /// Starts words[0]. Throws SystemError if it cannot be executed.
    ChildProgram(std::vector<std::string> const& words, Streams streams);
    ChildProgram(ChildProgram const&) = delete;
    /// Ends its process group: SIGTERM, and SIGKILL after 2 s.
    ~ChildProgram();

    /// Readable when it has ended.
    int ended_fd() const { return ended_.get(); }
    /// Waits without limit for its end, and returns its exit code, or 128 and its signal.
    int wait();

private:
    std::string const name_;
    pid_t pid_ = 0;
    UniqueFd ended_;
    int status_ = 0;
};

}  // namespace sinew::launch
