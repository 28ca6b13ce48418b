// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "src/base/system/shared_library.hpp"

namespace sinew {

/// The functions of the CUDA driver (libcuda.so.1) that sinew uses, found at run time: sinew links
/// no CUDA and starts without a driver. Handles are opaque, as in cuda.h; every function returns a
/// CUresult, of which 0 is success. All functions are thread-safe.
struct CudaDriver {
    using Context = void*;
    using Stream = void*;
    using Event = void*;
    using Module = void*;
    using Function = void*;
    using Address = std::uint64_t;
    using Uuid = std::array<unsigned char, 16>;

    static constexpr int success = 0;
    static constexpr int no_binary_for_gpu = 209;
    static constexpr int not_found = 500;
    static constexpr int not_ready = 600;

    /// Constants of cuda.h; tests/gpu compares them with it.
    enum Attribute : int { context = 1, memory_type = 2, is_managed = 8 };
    enum DeviceAttribute : int { multiprocessor_count = 16, threads_per_multiprocessor = 39 };
    static constexpr unsigned device_memory_type = 2;
    static constexpr unsigned stream_non_blocking = 1;
    static constexpr unsigned event_without_timing = 2;
    static constexpr int capture_mode_relaxed = 2;
    static constexpr int capture_none = 0;

    int (*init)(unsigned flags);
    int (*driver_version)(int* version);
    int (*error_string)(int error, char const** text);
    int (*device_count)(int* count);
    int (*device_uuid)(Uuid* uuid, int device);
    int (*device_attribute)(int* value, int attribute, int device);
    int (*context_push)(Context context);
    int (*context_pop)(Context* context);
    int (*context_set)(Context context);
    int (*context_get)(Context* context);
    int (*context_device)(int* device);
    int (*pointer_attribute)(void* result, int attribute, Address pointer);
    int (*stream_create)(Stream* stream, unsigned flags);
    int (*stream_destroy)(Stream stream);
    int (*stream_wait_event)(Stream stream, Event event, unsigned flags);
    int (*stream_is_capturing)(Stream stream, int* status);
    int (*thread_capture_mode)(int* mode);
    int (*event_create)(Event* event, unsigned flags);
    int (*event_record)(Event event, Stream stream);
    int (*event_query)(Event event);
    int (*event_destroy)(Event event);
    int (*copy)(Address to, Address from, std::size_t bytes);
    int (*copy_async)(Address to, Address from, std::size_t bytes, Stream stream);
    int (*memory_set_async)(Address memory, unsigned char value, std::size_t bytes, Stream stream);
    int (*memory_allocate)(Address* memory, std::size_t bytes);
    int (*memory_free)(Address memory);
    int (*host_allocate)(void** memory, std::size_t bytes, unsigned flags);
    int (*host_free)(void* memory);
    int (*module_load)(Module* module, void const* image);
    int (*module_unload)(Module module);
    int (*module_function)(Function* function, Module module, char const* name);
    int (*launch_kernel)(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                         unsigned block_x, unsigned block_y, unsigned block_z,
                         unsigned shared_bytes, Stream stream, void** parameters, void** extra);

    SharedLibrary library;

    /// Returns the driver that this process has loaded already; null if there is none (then no
    /// pointer to GPU memory can exist). Cheap if it was found before.
    static CudaDriver const* loaded() noexcept;
    /// Loads the driver. Throws Unavailable, which tells why it cannot be used.
    static CudaDriver const& load();

    /// Throws BackendError, with the name of the function and the driver's words, unless `result` is
    /// success.
    void check(int result, char const* function) const;
    std::string words(int result) const;
};

/// Makes a context the current one of this thread, and lets the thread call what a capture of a
/// graph by another thread would forbid, until the end of the scope. A fiber must not suspend
/// inside the scope.
class CudaContextScope {
public:
    /// Throws BackendError.
    CudaContextScope(CudaDriver const& driver, CudaDriver::Context context);
    CudaContextScope(CudaContextScope const&) = delete;
    CudaContextScope& operator=(CudaContextScope const&) = delete;
    ~CudaContextScope();

private:
    CudaDriver const& driver_;
    int mode_ = CudaDriver::capture_mode_relaxed;
};

}  // namespace sinew
