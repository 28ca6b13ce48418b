// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <array>
#include <fstream>
#include <string>

namespace sinew {

/// Returns the operating system's name of this host. Names may change and need not be unique.
inline std::string host_name() {
    std::array<char, 256> name{};
    ::gethostname(name.data(), name.size() - 1);
    return name.data();
}

/// Returns the kernel's boot id, unique per host and boot. Empty if there is no /proc.
inline std::string boot_id() {
    std::string id;
    std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), id);
    return id;
}

}  // namespace sinew
