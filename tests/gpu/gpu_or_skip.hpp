// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdlib>
#include <iostream>
#include <string>

namespace sinew::tests {

/// Ends the process with 77 (skipped) if there is no GPU, or with 1 if SINEW_REQUIRE_GPU=1.
inline void need_gpu() {
    int devices = 0;
    auto const error = cudaGetDeviceCount(&devices);
    if (error == cudaSuccess && devices > 0) return;
    char const* const value = std::getenv("SINEW_REQUIRE_GPU");
    bool const required = value != nullptr && std::string(value) == "1";
    std::cout << (required ? "FAIL" : "SKIP") << ": no CUDA device (error " << error << ": "
              << cudaGetErrorString(error) << ")\n";
    std::exit(required ? 1 : 77);
}

/// Prints whether something is as expected, and returns that.
inline bool expect(bool what, std::string const& text) {
    std::cout << (what ? "ok: " : "FAIL: ") << text << std::endl;
    return what;
}

}  // namespace sinew::tests
