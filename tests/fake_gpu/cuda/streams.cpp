// SPDX-License-Identifier: Apache-2.0
// The fake driver's streams: threads that do what they are given, in order; copies.
#include <chrono>
#include <cstring>
#include <thread>

#include "tests/fake_gpu/cuda/driver.hpp"

namespace fake_cuda {

namespace {

/// Requires: the state's mutex is held.
std::shared_ptr<Stream> made_stream(Device* device) {
    auto const made = std::make_shared<Stream>();
    made->device = device;
    std::thread([made] {
        made->run();
        State& all = state();
        std::lock_guard const after(all.mutex);
        all.ending.erase(made.get());
    }).detach();
    return made;
}

}  // namespace

std::shared_ptr<Stream> find_stream(void* handle) {
    State& all = state();
    std::lock_guard const lock(all.mutex);
    bool const is_default = handle == default_stream;
    if (is_default && !has_context()) return nullptr;
    if (is_default) handle = contexts.back();
    auto const found = all.streams.find(handle);
    if (found != all.streams.end()) return found->second;
    return is_default ? all.streams[handle] = made_stream(contexts.back()) : nullptr;
}

}  // namespace fake_cuda

using namespace fake_cuda;

extern "C" {

int fake_cuda_enqueue(void* stream, void (*call)(void*), void* argument, void (*release)(void*)) {
    auto const found = find_stream(stream);
    std::shared_ptr<void> const owned(argument, release);
    if (!found) return invalid_value;
    return found->add([call, owned] { call(owned.get()); });
}

void fake_cuda_copy_delay(int microseconds) { state().copy_delay = microseconds; }
unsigned long fake_cuda_copies() { return state().copies; }
unsigned long fake_cuda_copied_bytes() { return state().copied_bytes; }

int cuStreamCreate(void** stream, unsigned) {
    if (!has_context()) return invalid_context;
    State& all = state();
    std::lock_guard const lock(all.mutex);
    auto const made = made_stream(contexts.back());
    all.streams[made.get()] = made;
    return *stream = made.get(), success;
}
int cuStreamDestroy_v2(void* stream) {
    auto const found = find_stream(stream);
    if (!found) return invalid_value;
    State& all = state();
    std::lock_guard const lock(all.mutex);
    all.ending[stream] = found;
    all.streams.erase(stream);
    std::lock_guard const own(found->mutex);
    found->ending = true;
    found->changed.notify_all();
    return success;
}
int cuStreamSynchronize(void* stream) {
    auto const found = find_stream(stream);
    if (!found) return invalid_value;
    if (spoils_capture()) return capture_unsupported;
    std::unique_lock lock(found->mutex);
    if (found->capture) {
        found->capture->valid = false;
        return capture_unsupported;
    }
    found->changed.wait(lock, [&] { return found->works.empty() && !found->busy; });
    return success;
}
int cuStreamQuery(void* stream) {
    auto const found = find_stream(stream);
    if (!found) return invalid_value;
    if (spoils_capture()) return capture_unsupported;
    std::lock_guard const lock(found->mutex);
    if (found->capture) {
        found->capture->valid = false;
        return capture_unsupported;
    }
    return found->works.empty() && !found->busy ? success : not_ready;
}
int cuStreamIsCapturing(void* stream, int* status) {
    auto const found = find_stream(stream);
    if (!found) return invalid_value;
    std::lock_guard const lock(found->mutex);
    *status = !found->capture ? 0 : found->capture->valid ? 1 : 2;
    return success;
}

int cuMemcpyAsync(unsigned long long to, unsigned long long from, std::size_t bytes, void* stream) {
    auto const on = find_stream(stream);
    if (!has_context()) return invalid_context;
    if (!on || passes_an_end(to, bytes) || passes_an_end(from, bytes)) return invalid_value;
    return on->add([=] {
        State& all = state();
        if (int const delay = all.copy_delay; delay > 0)
            std::this_thread::sleep_for(std::chrono::microseconds(delay));
        std::memcpy(fake_cuda_shadow(reinterpret_cast<void*>(to)),
                    fake_cuda_shadow(reinterpret_cast<void*>(from)), bytes);
        ++all.copies;
        all.copied_bytes += bytes;
    });
}

int cuMemsetD8Async(unsigned long long memory, unsigned char value, std::size_t bytes,
                    void* stream) {
    auto const on = find_stream(stream);
    if (!has_context()) return invalid_context;
    if (!on || passes_an_end(memory, bytes)) return invalid_value;
    return on->add(
        [=] { std::memset(fake_cuda_shadow(reinterpret_cast<void*>(memory)), value, bytes); });
}
}
