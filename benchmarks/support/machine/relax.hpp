// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace sinew::bench {

/// Tells the processor that this is a loop that waits.
inline void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

}  // namespace sinew::bench
