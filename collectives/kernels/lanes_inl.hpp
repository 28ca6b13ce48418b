// SPDX-License-Identifier: Apache-2.0
// Loads elements from memory into vectors and stores them. Compiled once per instruction set, so it
// has Highway's guard instead of #pragma once, and uses nothing of std that might not be inlined.
#if defined(SINEW_LANES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SINEW_LANES_INL
#undef SINEW_LANES_INL
#else
#define SINEW_LANES_INL
#endif

#include <cstddef>
#include <cstring>

#include <hwy/highway.h>

#include "collectives/reducer.hpp"

HWY_BEFORE_NAMESPACE();
namespace sinew::collectives::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Byte = unsigned char;

// A single lane is copied by memcpy: Highway's load dereferences p, which may be unaligned.
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

/// What Completion::apply does to a vector. Requires: completion.exists().
template <class V>
HWY_INLINE V completed(V sum, Completion const& completion) {
    hn::DFromV<V> const d;
    auto const number = hn::Set(d, static_cast<hn::TFromD<decltype(d)>>(completion.number));
    return completion.kind == Completion::Kind::divide ? hn::Div(sum, number)
                                                       : hn::Mul(sum, number);
}

/// Elements that are single lanes. `Computed` is the type of arithmetic on elements that are stored as one vector.
template <class T>
struct Plain {
    using Lane = T;
    using Computed = T;
    static constexpr std::size_t bytes = sizeof(T);
    template <class D>
    static HWY_INLINE hn::Vec<D> load(D d, Byte const* p) {
        return load_lanes(d, p);
    }
    /// The vector that `store` stores, and what `load` makes of it.
    template <class D>
    static HWY_INLINE hn::Vec<D> stored(D, hn::Vec<D> v) {
        return v;
    }
    template <class D>
    static HWY_INLINE hn::Vec<D> loaded(D, hn::Vec<D> v) {
        return v;
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

/// Pairs of lanes, real and imaginary part. A vector of each holds one lane per element.
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

}  // namespace sinew::collectives::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
