// SPDX-License-Identifier: Apache-2.0
// How elements of memory become vectors and back. Compiled once per instruction set, so it has
// Highway's guard instead of #pragma once, and nothing from std that is not inlined for certain.
#if defined(SINEW_LANES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SINEW_LANES_INL
#undef SINEW_LANES_INL
#else
#define SINEW_LANES_INL
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <sinew/float16.hpp>

#include <hwy/highway.h>

// The portable targets have no half precision conversion that rounds and keeps NaN as ours does.
#define SINEW_PORTABLE_F16 (HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128 || HWY_ARCH_ARM_V7)

HWY_BEFORE_NAMESPACE();
namespace sinew::collectives::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Byte = unsigned char;

// One lane goes through memcpy: Highway's own load of it dereferences, and p may be unaligned.
template <class D>
HWY_INLINE hn::Vec<D> load_lanes(D d, Byte const* p) {
    using T = hn::TFromD<D>;
    if constexpr (hn::MaxLanes(D()) == 1) {
        T lane;
        std::memcpy(&lane, p, sizeof lane);
        return hn::Set(d, lane);
    } else {
        return hn::LoadU(d, reinterpret_cast<T const*>(p));
    }
}

template <class D>
HWY_INLINE void store_lanes(D d, hn::Vec<D> v, Byte* p) {
    using T = hn::TFromD<D>;
    if constexpr (hn::MaxLanes(D()) == 1) {
        T const lane = hn::GetLane(v);
        std::memcpy(p, &lane, sizeof lane);
    } else {
        hn::StoreU(v, d, reinterpret_cast<T*>(p));
    }
}

/// Elements that are lanes.
template <class T>
struct Plain {
    using Lane = T;
    static constexpr std::size_t bytes = sizeof(T);
    template <class D>
    static HWY_INLINE hn::Vec<D> load(D d, Byte const* p) {
        return load_lanes(d, p);
    }
    template <class D>
    static HWY_INLINE void store(D d, hn::Vec<D> v, Byte* p) {
        store_lanes(d, v, p);
    }
};

template <class V>
struct ComplexVector {
    V re, im;
};

/// Pairs of lanes, real and imaginary part: as many elements at a time as one vector has lanes.
template <class T>
struct Complex {
    using Lane = T;
    static constexpr std::size_t bytes = 2 * sizeof(T);
    template <class D>
    static HWY_INLINE ComplexVector<hn::Vec<D>> load(D d, Byte const* p) {
        auto re = hn::Zero(d), im = hn::Zero(d);
        if constexpr (hn::MaxLanes(D()) == 1) {
            re = load_lanes(d, p);
            im = load_lanes(d, p + sizeof(T));
        } else {
            hn::LoadInterleaved2(d, reinterpret_cast<T const*>(p), re, im);
        }
        return {re, im};
    }
    template <class D>
    static HWY_INLINE void store(D d, ComplexVector<hn::Vec<D>> v, Byte* p) {
        if constexpr (hn::MaxLanes(D()) == 1) {
            store_lanes(d, v.re, p);
            store_lanes(d, v.im, p + sizeof(T));
        } else {
            hn::StoreInterleaved2(v.re, v.im, d, reinterpret_cast<T*>(p));
        }
    }
};

/// 16-bit floats that become lanes of f32. A signalling NaN may become a quiet one at the load.
struct F16 {
    using Lane = float;
    static constexpr std::size_t bytes = 2;

    template <class D>
    static HWY_INLINE hn::Vec<D> load(D d, Byte const* p) {
#if SINEW_PORTABLE_F16
        HWY_ALIGN float lanes[hn::MaxLanes(D())];
        for (float& lane : lanes) {
            std::uint16_t bits;
            std::memcpy(&bits, p, sizeof bits);
            lane = detail::f16_bits_to_f32(bits);
            p += sizeof bits;
        }
        return hn::Load(d, lanes);
#else
        hn::Rebind<hwy::float16_t, D> const half;
        hn::Rebind<std::uint16_t, D> const bits;
        return hn::PromoteTo(d, hn::BitCast(half, load_lanes(bits, p)));
#endif
    }

    template <class D>
    static HWY_INLINE void store(D d, hn::Vec<D> v, Byte* p) {
#if SINEW_PORTABLE_F16
        HWY_ALIGN float lanes[hn::MaxLanes(D())];
        hn::Store(v, d, lanes);
        for (float const lane : lanes) {
            std::uint16_t const bits = detail::f32_to_f16_bits(lane);
            std::memcpy(p, &bits, sizeof bits);
            p += sizeof bits;
        }
#else
        hn::Rebind<hwy::float16_t, D> const half;
        hn::Rebind<std::uint16_t, D> const bits;
        store_lanes(bits, hn::BitCast(bits, hn::DemoteTo(half, v)), p);
        (void)d;
#endif
    }
};

struct BF16 {
    using Lane = float;
    static constexpr std::size_t bytes = 2;

    template <class D>
    static HWY_INLINE hn::Vec<D> load(D d, Byte const* p) {
        hn::Rebind<std::uint16_t, D> const half;
        hn::Rebind<std::uint32_t, D> const word;
        return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(word, load_lanes(half, p))));
    }

    template <class D>
    static HWY_INLINE void store(D d, hn::Vec<D> v, Byte* p) {
        hn::Rebind<std::uint16_t, D> const half;
        hn::Rebind<std::uint32_t, D> const word;
        hn::Rebind<std::int32_t, D> const signed_word;
        auto const bits = hn::BitCast(word, v);
        auto const upper = hn::ShiftRight<16>(bits);
        // Nearest even: up by half a unit, less one when the kept part is even.
        auto const odd = hn::And(upper, hn::Set(word, 1u));
        auto const sum = hn::Add(hn::Add(bits, hn::Set(word, 0x7fffu)), odd);
        auto const rounded = hn::ShiftRight<16>(sum);
        auto const quiet = hn::Or(upper, hn::Set(word, 0x40u));
        auto const result = hn::IfThenElse(hn::RebindMask(word, hn::IsNaN(v)), quiet, rounded);
        store_lanes(half, hn::DemoteTo(half, hn::BitCast(signed_word, result)), p);
        (void)d;
    }
};

}  // namespace sinew::collectives::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
