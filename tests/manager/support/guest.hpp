// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <sinew/auth_key.hpp>
#include <string>

#include "src/base/system/spawn.hpp"
#include "src/base/system/unique_fd.hpp"

namespace sinew::testing_support {

/// This same program, run as somebody else would run it: of a session of its own.
class Guest {
public:
    /// `role`: what it does there, see guest.cpp.
    Guest(std::string const& role, std::string const& address, AuthKey const& key);
    Guest(Guest const&) = delete;
    ~Guest();
    /// What it writes to its standard output; empty at its end.
    std::string line();
    void kill(int signal);
    /// Its exit code, or the signal's number below zero; -1000 when it has not ended by then.
    int wait();

private:
    std::string key_file_;
    Spawned process_;
    std::FILE* lines_ = nullptr;
    bool reaped_ = false;
};

}  // namespace sinew::testing_support
