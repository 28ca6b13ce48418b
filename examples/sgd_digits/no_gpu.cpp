// SPDX-License-Identifier: Apache-2.0
// In the place of cuda_gpu.cu where CUDA is not there.
#include "examples/sgd_digits/gpu.hpp"

namespace sgd_digits {

bool built_with_cuda() { return false; }

std::unique_ptr<Gpu> open_gpu(int) { throw GpuError("this program was built without CUDA"); }

}  // namespace sgd_digits
