// SPDX-License-Identifier: Apache-2.0
// The fake driver's devices and contexts.
#include <pthread.h>

#include <cstring>

#include "tests/fake_gpu/cuda/driver.hpp"

namespace fake_cuda {

State& state() {
    static State* const made = new State;
    return *made;
}

void State::keep_unlocked_in_forks() {
    auto const unlock = [] { state().mutex.unlock(); };
    ::pthread_atfork([] { state().mutex.lock(); }, unlock, unlock);
}

thread_local std::vector<Device*> contexts;
thread_local int capture_mode = mode_global;

bool has_context() { return !contexts.empty() && contexts.back() != nullptr; }

}  // namespace fake_cuda

using namespace fake_cuda;

extern "C" {

void fake_cuda_use_device(int ordinal) {
    Device* const device = &state().all.at(static_cast<std::size_t>(ordinal));
    if (contexts.empty()) contexts.push_back(device);
    else contexts.back() = device;
}

int cuInit(unsigned) { return success; }
int cuDriverGetVersion(int* version) { return *version = 13000, success; }
int cuGetErrorString(int error, char const** text) {
    *text = error == success         ? "no error"
            : error == not_ready     ? "device not ready"
            : error == invalid_value ? "invalid argument"
                                     : "an error of the fake driver";
    return success;
}
int cuDeviceGetCount(int* count) { return *count = devices, success; }
int cuDeviceGetUuid_v2(void* uuid, int device) {
    std::memset(uuid, 0, 16);
    std::memcpy(uuid, "fake", 4);
    static_cast<unsigned char*>(uuid)[15] = static_cast<unsigned char>(device);
    return success;
}

int cuDeviceGetAttribute(int* value, int attribute, int device) {
    constexpr int multiprocessors = 16, threads = 39;
    if (device < 0 || device >= devices) return invalid_value;
    if (attribute != multiprocessors && attribute != threads) return invalid_value;
    return *value = attribute == threads ? 512 : 3, success;
}

int cuCtxPushCurrent_v2(void* context) {
    if (context == nullptr) return invalid_context;
    contexts.push_back(static_cast<Device*>(context));
    return success;
}
int cuCtxPopCurrent_v2(void** context) {
    if (contexts.empty()) return invalid_context;
    *context = contexts.back();
    contexts.pop_back();
    return success;
}
int cuCtxSetCurrent(void* context) {
    if (contexts.empty()) contexts.push_back(nullptr);
    contexts.back() = static_cast<Device*>(context);
    return success;
}
int cuCtxGetCurrent(void** context) {
    *context = contexts.empty() ? nullptr : contexts.back();
    return success;
}

int cuCtxGetDevice(int* device) {
    if (!has_context()) return invalid_context;
    return *device = contexts.back()->ordinal, success;
}
}
