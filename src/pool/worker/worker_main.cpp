// SPDX-License-Identifier: Apache-2.0
#include "src/pool/worker/worker_main.hpp"

#include <sys/prctl.h>

#include <exception>

#include "src/base/log.hpp"
#include "src/base/text.hpp"
#include "src/pool/worker/worker_process.hpp"

namespace sinew::pool {

int worker_main(process::ChildStart& start) {
    // Makes short sleeps of tasks end on time. The default slack of 50 us is 5 % of a millisecond.
    ::prctl(PR_SET_TIMERSLACK, 1UL);
    try {
        Reader reader(start.message);
        auto told = WorkerStart::decode_from(reader);
        return WorkerProcess(start, std::move(told)).run();
    } catch (std::exception const& error) {
        log_warning(text(start.name, ": ", error.what()));
        return 1;
    }
}

}  // namespace sinew::pool
