// SPDX-License-Identifier: Apache-2.0
// The fake kernels for programs that are not linked with them, such as Python's.
#include "tests/fake_gpu/fake_cuda.hpp"
#include "tests/fake_gpu/fake_kernels.hpp"

extern "C" void fake_cuda_use_kernels();

/// The fake driver executes the kernels' twins from now on.
extern "C" void fake_cuda_use_kernels() {
    fake_cuda_kernels(sinew::tests::run_fake_kernel, sinew::tests::fake_kernel_bytes);
}
