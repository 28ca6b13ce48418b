// SPDX-License-Identifier: Apache-2.0
#include "src/sgd/device/kernel_image.hpp"

#include <sinew/error.hpp>

#include "src/base/text.hpp"

#ifdef SINEW_KERNEL_TARGETS

// The assembler puts the files into the library: no compiler has to read them as source.
#define SINEW_IMAGE(symbol, file)                                                                  \
    __asm__(".pushsection .rodata\n.balign 64\n.global " #symbol "\n.hidden " #symbol "\n" #symbol \
            ":\n.incbin \"" file "\"\n.global " #symbol "_end\n.hidden " #symbol "_end\n" #symbol  \
            "_end:\n.popsection\n");                                                               \
    extern "C" {                                                                                   \
    __attribute__((visibility("hidden"))) extern std::byte const symbol[];                         \
    __attribute__((visibility("hidden"))) extern std::byte const symbol##_end[];                   \
    }

SINEW_IMAGE(sinew_kernels_elements, SINEW_KERNELS_ELEMENTS)
SINEW_IMAGE(sinew_kernels_selection, SINEW_KERNELS_SELECTION)

namespace sinew::sgd {

std::vector<std::span<std::byte const>> kernel_images() {
    return {{sinew_kernels_elements, sinew_kernels_elements_end},
            {sinew_kernels_selection, sinew_kernels_selection_end}};
}

std::string kernel_targets() { return SINEW_KERNEL_TARGETS; }

}  // namespace sinew::sgd

#else

namespace sinew::sgd {

std::vector<std::span<std::byte const>> kernel_images() {
    throw Unavailable(text("this sinew was built without kernels for GPUs (", SINEW_NO_KERNELS,
                           "). Build it where nvcc is, with SINEW_WITH_CUDA=ON"));
}

std::string kernel_targets() { return {}; }

}  // namespace sinew::sgd

#endif
