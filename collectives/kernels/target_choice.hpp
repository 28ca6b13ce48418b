// SPDX-License-Identifier: Apache-2.0
// Selects the instruction sets that the kernels are compiled for: AVX-512, AVX2, NEON, and scalar
// for all others. Include it before any header of Highway. The excluded sets would cost compile
// time and code for machines that are rare (SSE only) or whose vectors have no compile-time size
// (SVE machines also run NEON).
//
// Only Highway's headers are used: a process that loads its library spends 5 ms on measuring the
// machine's clock (docs/decisions/0009-highway-without-its-library.md).
#pragma once

#define HWY_DISABLED_TARGETS \
    (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)

// Debug assertions would need Highway's library. The kernels are tested under sanitizers instead.
#define HWY_IS_DEBUG_BUILD 0
