// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <array>
#include <fstream>
#include <string>

namespace sinew {

/// What the operating system calls this host. Names may repeat, and change.
inline std::string host_name() {
    std::array<char, 256> name{};
    ::gethostname(name.data(), name.size() - 1);
    return name.data();
}

/// Of the running kernel; another one on each host, and after each start. Empty where there is no /proc.
inline std::string boot_id() {
    std::string id;
    std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), id);
    return id;
}

}  // namespace sinew
