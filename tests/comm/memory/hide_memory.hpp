// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>
#include <sys/mount.h>

namespace sinew::tests {

/// Hides from this process what ranks could share memory by. Returns false if that is not permitted.
inline bool hide_proc_and_shm(int) {
    return ::unshare(CLONE_NEWNS) == 0 &&
           ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           ::mount("tmpfs", "/dev/shm", "tmpfs", MS_RDONLY, "size=64k") == 0 &&
           ::mount("tmpfs", "/proc", "tmpfs", MS_RDONLY, "size=64k") == 0;
}

}  // namespace sinew::tests
