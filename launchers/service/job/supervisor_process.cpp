// SPDX-License-Identifier: Apache-2.0
#include "launchers/service/job/supervisor_process.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <sinew/error.hpp>
#include <utility>

#include "launchers/agent/descendants.hpp"
#include "launchers/common/own_path.hpp"
#include "src/base/text.hpp"

namespace sinew::launch::service {

Spawned start_supervisor(JobFiles const& files, UniqueFd const& lock) {
    // What goes wrong before the program starts is for the job's client.
    UniqueFd const err(::open(files.err().c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
    std::vector<std::string> environment;
    for (char** each = ::environ; *each != nullptr; ++each) environment.emplace_back(*each);
    auto started = spawn({.path = own_path(),
                          .argv = {own_path(), "supervise", files.path(), text(lock.get())},
                          .env = std::move(environment),
                          .folder = "/",
                          .cpus = {},
                          .out = err.get(),
                          .err = err.get(),
                          .keep = {lock.get()},
                          .only_kept = true});
    if (started.error != 0)
        throw Unavailable(text("the supervisor of the job in ", files.path(),
                               " cannot be started (", started.step, ": ",
                               std::strerror(started.error), ")"));
    return started;
}

UniqueFd open_supervisor(SupervisorRecord const& record) {
    UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, record.pid, 0)));
    // It refers to the process that has the number now.
    auto const life = process_life(record.pid);
    if (!process || !life || life->start != record.process_start) return {};
    return process;
}

}  // namespace sinew::launch::service
