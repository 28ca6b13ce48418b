// SPDX-License-Identifier: Apache-2.0
#include "src/pool/worker/worker_main.hpp"

#include <sys/prctl.h>

#include <exception>

#include "src/base/log.hpp"
#include "src/base/text.hpp"
#include "src/pool/worker/worker_process.hpp"
#include "src/task/to_bytes.hpp"

namespace sinew::pool {

int worker_main(process::ChildStart& start) {
    // Makes short sleeps of tasks end on time. The default slack of 50 us is 5 % of a millisecond.
    ::prctl(PR_SET_TIMERSLACK, 1UL);
    try {
        return WorkerProcess(start, from_bytes<WorkerStart>(start.message)).run();
    } catch (std::exception const& error) {
        log_warning(text(start.name, ": ", error.what()));
        return 1;
    }
}

}  // namespace sinew::pool
