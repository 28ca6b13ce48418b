// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <sinew/manager/auth_key.hpp>
#include <string>

#include "src/base/system/spawn.hpp"
#include "src/base/system/unique_fd.hpp"

namespace sinew::testing_support {

/// Runs this program as a process of another session.
class Guest {
public:
    /// `role`: what it does, see guest.cpp.
    Guest(std::string const& role, std::string const& address, AuthKey const& key);
    Guest(Guest const&) = delete;
    ~Guest();
    /// The next line of its standard output; empty at the end.
    std::string line();
    void kill(int signal);
    /// The exit code, or the negated signal number; -1000 if it has not ended in time.
    int wait();

private:
    std::string key_file_;
    Spawned process_;
    std::FILE* lines_ = nullptr;
    bool reaped_ = false;
};

}  // namespace sinew::testing_support
