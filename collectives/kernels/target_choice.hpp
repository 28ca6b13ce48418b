// SPDX-License-Identifier: Apache-2.0
// Which instruction sets the kernels are compiled for: AVX-512, AVX2, NEON, and scalar for all
// others. Include before any header of Highway. The ones left out would cost compile time and
// code for machines that are rare (SSE only) or whose vectors have no size to the compiler (SVE:
// NEON runs there too).
//
// Of Highway only the headers are used: every process that loads its library measures the clock of
// the machine for 5 ms (docs/decisions/0009-highway-without-its-library.md).
#pragma once

#define HWY_DISABLED_TARGETS \
    (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)

// What its assertions call is in the library. Ours run under sanitizers.
#define HWY_IS_DEBUG_BUILD 0
