// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/support/machine/autogroup.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "benchmarks/support/text.hpp"

namespace sinew::bench {

namespace {

constexpr char const* path = "/proc/self/autogroup";

/// Returns 0 or an errno.
int write_weight(int nice) {
    int const file = ::open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0) return errno;
    std::string const value = text(nice);
    int const error = ::write(file, value.data(), value.size()) < 0 ? errno : 0;
    ::close(file);
    return error;
}

}  // namespace

AutogroupWeight::AutogroupWeight(std::optional<int> nice) {
    if (!nice) return;
    int const error = write_weight(*nice);
    changed_ = error == 0;
    // EAGAIN: the kernel accepts one change per 100 ms from unprivileged processes, and another
    // rank of this session has just set the same value.
    if (error != 0 && error != EAGAIN)
        problem_ =
            text("autogroup weight ", *nice, " not set (", path, ": ",
                 std::generic_category().message(error), "). Times are those of the usual weight");
}

AutogroupWeight::~AutogroupWeight() {
    if (changed_) write_weight(0);
}

}  // namespace sinew::bench
