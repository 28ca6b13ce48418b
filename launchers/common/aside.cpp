// SPDX-License-Identifier: Apache-2.0
#include "launchers/common/aside.hpp"

#include <system_error>
#include <thread>
#include <utility>

namespace sinew::launch {

void run_aside(LoopGate gate, std::function<void()> work,
               std::function<void(std::exception_ptr)> then) {
    auto whole = [gate = std::move(gate), work = std::move(work), then = std::move(then)] {
        std::exception_ptr problem;
        try {
            work();
        } catch (...) {
            problem = std::current_exception();
        }
        gate.post([then, problem] { then(problem); });
    };
    try {
        std::thread(whole).detach();
    } catch (std::system_error const&) {  // the limit of threads is reached (ulimit -u)
        whole();
    }
}

}  // namespace sinew::launch
