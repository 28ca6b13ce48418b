// SPDX-License-Identifier: Apache-2.0
// Converts 16-bit floats to vectors of f32 and back. Compiled once per instruction set.
#if defined(SINEW_HALVES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SINEW_HALVES_INL
#undef SINEW_HALVES_INL
#else
#define SINEW_HALVES_INL
#endif

#include <sinew/comm/float16.hpp>

#include "collectives/kernels/lanes_inl.hpp"

// The half-precision conversion of the portable targets rounds and treats NaN differently.
#define SINEW_PORTABLE_F16 (HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128 || HWY_ARCH_ARM_V7)

HWY_BEFORE_NAMESPACE();
namespace sinew::collectives::kernels::HWY_NAMESPACE {

/// f16 elements as one vector of f32 lanes. The load may make a signaling NaN quiet.
struct F16 {
    static constexpr bool converts = true;
    using Lane = float;
    static constexpr std::size_t bytes = 2;

#if SINEW_PORTABLE_F16
    template <class D>
    static HWY_INLINE hn::Vec<D> load(D d, Byte const* p) {
        HWY_ALIGN float lanes[hn::MaxLanes(D())];
        for (float& lane : lanes) {
            std::uint16_t bits;
            std::memcpy(&bits, p, sizeof bits);
            lane = detail::f16_bits_to_f32(bits);
            p += sizeof bits;
        }
        return hn::Load(d, lanes);
    }
    template <class D>
    static HWY_INLINE void store(D d, hn::Vec<D> v, Byte* p) {
        HWY_ALIGN float lanes[hn::MaxLanes(D())];
        hn::Store(v, d, lanes);
        for (float const lane : lanes) {
            std::uint16_t const bits = detail::f32_to_f16_bits(lane);
            std::memcpy(p, &bits, sizeof bits);
            p += sizeof bits;
        }
    }
#else
    using Computed = float;
    template <class D>
    using Bits = hn::Rebind<std::uint16_t, D>;

    template <class D>
    static HWY_INLINE hn::Vec<D> loaded(D d, hn::Vec<Bits<D>> v) {
        return hn::PromoteTo(d, hn::BitCast(hn::Rebind<hwy::float16_t, D>(), v));
    }
    template <class D>
    static HWY_INLINE hn::Vec<D> load(D d, Byte const* p) {
        return loaded(d, load_lanes(Bits<D>(), p));
    }
    template <class D>
    static HWY_INLINE hn::Vec<Bits<D>> stored(D, hn::Vec<D> v) {
        return hn::BitCast(Bits<D>(), hn::DemoteTo(hn::Rebind<hwy::float16_t, D>(), v));
    }
    template <class D>
    static HWY_INLINE void store(D d, hn::Vec<D> v, Byte* p) {
        store_lanes(Bits<D>(), stored(d, v), p);
    }
#endif
};

/// Rounds each lane to nearest even in its upper half; NaN stays NaN but becomes quiet.
template <class V>
HWY_INLINE auto rounded_to_upper_half(V v) {
    hn::RebindToUnsigned<hn::DFromV<V>> const word;
    auto const bits = hn::BitCast(word, v);
    // Add half a unit, minus one if the kept part is even.
    auto const odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(word, 1u));
    auto const sum = hn::Add(hn::Add(bits, hn::Set(word, 0x7fffu)), odd);
    auto const quiet = hn::Or(bits, hn::Set(word, 0x00400000u));
    return hn::IfThenElse(hn::RebindMask(word, hn::IsNaN(v)), quiet, sum);
}

/// bf16 elements as one vector of f32 lanes; see F16.
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
    static HWY_INLINE void store(D, hn::Vec<D> v, Byte* p) {
        hn::Rebind<std::uint16_t, D> const half;
        hn::Rebind<std::int32_t, D> const word;  // DemoteTo saturates, which needs a signed type
        auto const upper = hn::ShiftRight<16>(rounded_to_upper_half(v));
        store_lanes(half, hn::DemoteTo(half, hn::BitCast(word, upper)), p);
    }
};

template <class V>
struct EvenOdd {
    V even, odd;
};
template <class V>
HWY_INLINE EvenOdd<V> completed(EvenOdd<V> sum, Completion const& completion) {
    return {completed(sum.even, completion), completed(sum.odd, completion)};
}

/// bf16 elements as two vectors of f32: those with even and those with odd index. Thus no element
/// changes lanes, which would take longer than the arithmetic.
struct BF16Pairs {
    static constexpr bool converts = true;
    using Lane = std::uint16_t;
    using Computed = float;
    static constexpr std::size_t bytes = 2;

    template <class D>
    static HWY_INLINE auto load(D d, Byte const* p) {
        if constexpr (hn::MaxLanes(D()) == 1) {
            hn::Rebind<float, D> const single;
            auto const lane = BF16::load(single, p);
            return EvenOdd<hn::Vec<hn::Rebind<float, D>>>{lane, lane};
        } else {
            return loaded(d, load_lanes(d, p));
        }
    }
    template <class D>
    static HWY_INLINE auto loaded(D, hn::Vec<D> v) {
        hn::Repartition<std::uint32_t, D> const word;
        hn::Repartition<float, D> const single;
        auto const both = hn::BitCast(word, v);
        auto const odd = hn::And(both, hn::Set(word, 0xffff0000u));
        auto const even = hn::BitCast(single, hn::ShiftLeft<16>(both));
        return EvenOdd<hn::Vec<hn::Repartition<float, D>>>{even, hn::BitCast(single, odd)};
    }
    /// For results of arithmetic: a NaN among them is quiet. All elements are rounded to nearest even in their 16-bit lanes.
    template <class D, class V>
    static HWY_INLINE void store(D d, EvenOdd<V> v, Byte* p) {
        if constexpr (hn::MaxLanes(D()) == 1) {
            BF16::store(hn::DFromV<V>(), v.even, p);
        } else {
            store_lanes(d, stored(d, v), p);
        }
    }
    template <class D, class V>
    static HWY_INLINE auto stored(D d, EvenOdd<V> v) {
        return rounded(d, hn::BitCast(d, v.even), hn::BitCast(d, v.odd));
    }

private:
    template <class D, class V>
    static HWY_INLINE V rounded(D d, V even, V odd) {
        hn::Repartition<std::uint32_t, D> const word;
        auto const kept =
            hn::OddEven(odd, hn::BitCast(d, hn::ShiftRight<16>(hn::BitCast(word, even))));
        auto const dropped =
            hn::OddEven(hn::BitCast(d, hn::ShiftLeft<16>(hn::BitCast(word, odd))), even);
        auto const one = hn::Set(d, std::uint16_t{1});
        // At half a unit, an even part stays.
        auto const most = hn::Sub(hn::Set(d, std::uint16_t{0x8000}), hn::And(kept, one));
        auto const nan = hn::Gt(hn::Add(kept, kept), hn::Set(d, std::uint16_t{0xff00}));
        auto const up = hn::AndNot(nan, hn::Gt(dropped, most));
        return hn::IfThenElse(up, hn::Add(kept, one), kept);
    }
};

}  // namespace sinew::collectives::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
