// SPDX-License-Identifier: Apache-2.0
// The fake driver's events.
#include "tests/fake_gpu/cuda/driver.hpp"

namespace fake_cuda {

std::shared_ptr<Event> find_event(void* handle) {
    State& all = state();
    std::lock_guard const lock(all.mutex);
    auto const found = all.events.find(handle);
    return found == all.events.end() ? nullptr : found->second;
}

}  // namespace fake_cuda

using namespace fake_cuda;

extern "C" {

int cuEventCreate(void** event, unsigned) {
    if (!has_context()) return invalid_context;
    auto const made = std::make_shared<Event>();
    State& all = state();
    std::lock_guard const lock(all.mutex);
    all.events[made.get()] = made;
    return *event = made.get(), success;
}
int cuEventDestroy_v2(void* event) {
    State& all = state();
    std::lock_guard const lock(all.mutex);
    return all.events.erase(event) == 1 ? success : invalid_value;
}
int cuEventRecord(void* event, void* stream) {
    auto const found = find_event(event);
    auto const on = find_stream(stream);
    if (!found || !on) return invalid_value;
    {
        // Stricter than the driver: sinew waits for no event that it records inside a capture.
        std::lock_guard const lock(on->mutex);
        if (on->capture) {
            on->capture->valid = false;
            return capture_unsupported;
        }
    }
    std::uint64_t number = 0;
    {
        std::lock_guard const lock(found->mutex);
        number = ++found->recorded;
    }
    return on->add([found, number] {
        std::lock_guard const lock(found->mutex);
        if (found->reached < number) found->reached = number;
        found->changed.notify_all();
    });
}
int cuEventQuery(void* event) {
    auto const found = find_event(event);
    if (!found) return invalid_value;
    if (spoils_capture()) return capture_unsupported;
    std::lock_guard const lock(found->mutex);
    return found->reached == found->recorded ? success : not_ready;
}
int cuStreamWaitEvent(void* stream, void* event, unsigned) {
    auto const found = find_event(event);
    auto const on = find_stream(stream);
    if (!found || !on) return invalid_value;
    std::uint64_t number = 0;
    {
        std::lock_guard const lock(found->mutex);
        number = found->recorded;
    }
    return on->add([found, number] {
        std::unique_lock lock(found->mutex);
        found->changed.wait(lock, [&] { return found->reached >= number; });
    });
}
}
