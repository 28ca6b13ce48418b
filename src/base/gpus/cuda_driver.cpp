// SPDX-License-Identifier: Apache-2.0
#include "src/base/gpus/cuda_driver.hpp"

#include <link.h>

#include <atomic>
#include <memory>
#include <mutex>

#include <sinew/error.hpp>

#include "src/base/text.hpp"

namespace sinew {

namespace {

constexpr char const* driver_library = "libcuda.so.1";

/// Returns how many libraries this process has loaded so far.
std::uint64_t loads() noexcept {
    std::uint64_t count = 0;
    ::dl_iterate_phdr(
        [](::dl_phdr_info* info, std::size_t, void* result) {
            *static_cast<std::uint64_t*>(result) = info->dlpi_adds;
            return 1;  // every entry has the count
        },
        &count);
    return count;
}

/// Returns the name of the first function that the library lacks; null if it has all.
char const* look_up_all(CudaDriver& driver) {
    char const* missing = nullptr;
    auto const find = [&](char const* symbol, auto& function) {
        if (!driver.library.look_up(symbol, function) && missing == nullptr) missing = symbol;
    };
    find("cuInit", driver.init);
    find("cuDriverGetVersion", driver.driver_version);
    find("cuGetErrorString", driver.error_string);
    find("cuDeviceGetCount", driver.device_count);
    find("cuDeviceGetUuid_v2", driver.device_uuid);
    find("cuDeviceGetAttribute", driver.device_attribute);
    find("cuCtxPushCurrent_v2", driver.context_push);
    find("cuCtxPopCurrent_v2", driver.context_pop);
    find("cuCtxSetCurrent", driver.context_set);
    find("cuCtxGetCurrent", driver.context_get);
    find("cuCtxGetDevice", driver.context_device);
    find("cuPointerGetAttribute", driver.pointer_attribute);
    find("cuStreamCreate", driver.stream_create);
    find("cuStreamDestroy_v2", driver.stream_destroy);
    find("cuStreamWaitEvent", driver.stream_wait_event);
    find("cuStreamIsCapturing", driver.stream_is_capturing);
    find("cuThreadExchangeStreamCaptureMode", driver.thread_capture_mode);
    find("cuEventCreate", driver.event_create);
    find("cuEventRecord", driver.event_record);
    find("cuEventQuery", driver.event_query);
    find("cuEventDestroy_v2", driver.event_destroy);
    find("cuMemcpy", driver.copy);
    find("cuMemcpyAsync", driver.copy_async);
    find("cuMemsetD8Async", driver.memory_set_async);
    find("cuMemAlloc_v2", driver.memory_allocate);
    find("cuMemFree_v2", driver.memory_free);
    find("cuMemHostAlloc", driver.host_allocate);
    find("cuMemFreeHost", driver.host_free);
    find("cuModuleLoadData", driver.module_load);
    find("cuModuleUnload", driver.module_unload);
    find("cuModuleGetFunction", driver.module_function);
    find("cuLaunchKernel", driver.launch_kernel);
    return missing;
}

std::atomic<CudaDriver const*> known{nullptr};

/// Keeps the functions of a library for good. Returns null and the reason if it lacks one.
CudaDriver const* adopt(SharedLibrary const& library, std::string& why) {
    static std::mutex mutex;
    std::lock_guard const lock(mutex);
    if (CudaDriver const* const before = known.load(std::memory_order_acquire)) return before;
    static CudaDriver driver{};
    driver.library = library;
    if (char const* const missing = look_up_all(driver)) {
        why = text(library.path_of("cuInit"), " has no ", missing,
                   ": the NVIDIA driver is too old (11.4 or later is needed)");
        return nullptr;
    }
    known.store(&driver, std::memory_order_release);
    return &driver;
}

}  // namespace

CudaDriver const* CudaDriver::loaded() noexcept try {
    if (CudaDriver const* const driver = known.load(std::memory_order_acquire)) return driver;
    // The driver may be loaded later. dlopen searches the disk (20 us), so it is called again only
    // after another library was loaded.
    static std::atomic<std::uint64_t> looked_at{0};
    std::uint64_t const now = loads();
    if (looked_at.load(std::memory_order_acquire) == now) return nullptr;
    SharedLibrary const library = SharedLibrary::already_loaded(driver_library);
    std::string why;
    CudaDriver const* const driver = library ? adopt(library, why) : nullptr;
    // Only now: another thread that sees it takes it that there is no driver.
    if (driver == nullptr) looked_at.store(now, std::memory_order_release);
    return driver;
} catch (std::exception const&) {
    return nullptr;
}

CudaDriver const& CudaDriver::load() {
    std::string why;
    CudaDriver const* driver = nullptr;
    try {
        driver = adopt(SharedLibrary::open(driver_library), why);
    } catch (Unavailable const& error) {
        throw Unavailable(
            text("no NVIDIA driver (", error.what(),
                 "). GPUs need one; in a container it comes with the NVIDIA container "
                 "toolkit"));
    }
    if (driver == nullptr) throw Unavailable(why);
    if (int const result = driver->init(0); result != success)
        throw Unavailable(text("the NVIDIA driver does not start (cuInit: error ", result, ", ",
                               driver->words(result), "). nvidia-smi shows its state"));
    return *driver;
}

std::string CudaDriver::words(int result) const {
    char const* words = nullptr;
    return error_string(result, &words) == success && words != nullptr ? words : "unknown error";
}

void CudaDriver::check(int result, char const* function) const {
    if (result != success)
        throw BackendError(text(function, ": CUDA error ", result, " (", words(result), ')'),
                           result);
}

CudaContextScope::CudaContextScope(CudaDriver const& driver, CudaDriver::Context context)
    : driver_(driver) {
    driver_.check(driver_.context_push(context), "cuCtxPushCurrent");
    driver_.thread_capture_mode(&mode_);
}

CudaContextScope::~CudaContextScope() {
    driver_.thread_capture_mode(&mode_);
    CudaDriver::Context popped = nullptr;
    driver_.context_pop(&popped);
}

}  // namespace sinew
