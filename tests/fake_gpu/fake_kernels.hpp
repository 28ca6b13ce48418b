// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace sinew::tests {

/// What the fake driver executes as a kernel: its twin, on the shadow of device memory.
void run_fake_kernel(char const* name, unsigned blocks, void const* parameter);
/// The bytes of the kernel's parameter; 0 if there is no such kernel.
std::size_t fake_kernel_bytes(char const* name);

}  // namespace sinew::tests
