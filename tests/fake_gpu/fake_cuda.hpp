// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

// What tests and the fake NCCL call of the fake CUDA driver, besides the driver's own functions.
//
// Device memory is ordinary memory that is mapped twice: at its device address nobody may touch it, so
// that a host access to GPU memory is a crash; the shadow is for the device's side. Each stream is a
// thread. Captured streams record what they are given.
extern "C" {

/// Makes a device the current one of this thread, as cudaSetDevice does. There are 8.
void fake_cuda_use_device(int ordinal);
/// Where the device's side finds memory: the shadow of device memory, and host memory itself.
void* fake_cuda_shadow(void const* pointer);
/// Gives a stream a function to call, or the graph that captures it. `release(argument)` is called when it
/// will not be called any more.
int fake_cuda_enqueue(void* stream, void (*call)(void*), void* argument, void (*release)(void*));
/// How long each copy takes, besides the copying itself.
void fake_cuda_copy_delay(int microseconds);
/// What executes kernels: called with the function's name, its blocks, and a copy of its parameter (one
/// structure) when the stream comes to the launch. Null: nothing is executed.
using FakeKernels = void (*)(char const* name, unsigned blocks, void const* parameter);
/// How many bytes the parameter of a kernel has; 0 if there is no such kernel.
using FakeParameterBytes = std::size_t (*)(char const* name);
void fake_cuda_kernels(FakeKernels kernels, FakeParameterBytes parameter_bytes);
/// How many modules are loaded now.
int fake_cuda_modules();
/// The next load of a module fails with this error, once; 0: none does.
void fake_cuda_fail_module_load(int error);
/// How many copies streams have made since the start.
unsigned long fake_cuda_copies();
/// How many bytes these were.
unsigned long fake_cuda_copied_bytes();

// The driver's functions that only tests call.
int cuCtxGetCurrent(void** context);
int cuCtxSetCurrent(void* context);
int cuMemAlloc_v2(unsigned long long* memory, std::size_t bytes);
int cuMemFree_v2(unsigned long long memory);
int cuMemcpy(unsigned long long to, unsigned long long from, std::size_t bytes);
int cuStreamCreate(void** stream, unsigned flags);
int cuStreamDestroy_v2(void* stream);
int cuStreamSynchronize(void* stream);
int cuStreamQuery(void* stream);
int cuStreamIsCapturing(void* stream, int* status);
int cuStreamBeginCapture_v2(void* stream, int mode);
int cuStreamEndCapture(void* stream, void** graph);
int cuGraphInstantiateWithFlags(void** runnable, void* graph, unsigned long long flags);
int cuGraphLaunch(void* runnable, void* stream);
int cuGraphExecDestroy(void* runnable);
int cuGraphDestroy(void* graph);
}
