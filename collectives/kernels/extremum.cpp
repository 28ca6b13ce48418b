// SPDX-License-Identifier: Apache-2.0
// The kernels of min and max. Floats follow `minimum` and `maximum` of IEEE 754-2019: NaN wins over
// every number, -0 is less than +0. Every NaN becomes the quiet positive NaN without payload, so
// that no bit of the result depends on the order of the inputs.
#include "collectives/kernels/dispatch.hpp"
#include "collectives/kernels/kernels.hpp"
#include "collectives/kernels/target_choice.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "collectives/kernels/extremum.cpp"
#include <hwy/foreach_target.h>

#include "collectives/kernels/reduce_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace sinew::collectives::kernels::HWY_NAMESPACE {

template <bool greatest>
struct OfIntegers : AsIs {
    template <class D, class V>
    static HWY_INLINE V next(D, V a, V b) {
        if constexpr (greatest) return hn::Max(a, b);
        else return hn::Min(a, b);
    }
};

/// Returns a < b ? a : b for all numbers; b for two zeros or if an operand is NaN.
template <class V>
HWY_INLINE V lesser(V a, V b) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
    return hn::Min(a, b);  // exactly this is what the x86 instruction does
#else
    return hn::IfThenElse(hn::Lt(a, b), a, b);
#endif
}

/// The kernel of f32 and f64. The maximum is the negated minimum of the negated inputs.
template <bool greatest>
struct OfFloats {
    template <class D, class V>
    static HWY_INLINE V first(D, V v) {
        if constexpr (greatest) return hn::Neg(v);
        else return v;
    }
    // The two orders of operands are joined by "or": equal numbers give themselves, two zeros give
    // -0 if one of them is -0, a number and NaN give a NaN.
    template <class D, class V>
    static HWY_INLINE V next(D d, V least, V b) {
        b = first(d, b);
        return hn::Or(lesser(least, b), lesser(b, least));
    }
    template <class D, class V>
    static HWY_INLINE V finish(D d, V least) {
        hn::RebindToUnsigned<D> const bits;
        using U = hn::TFromD<decltype(bits)>;
        constexpr U quiet = sizeof(U) == 4 ? U{0x7fc00000} : static_cast<U>(0x7ff8000000000000);
        auto const result = first(d, least);
        return hn::IfThenElse(hn::IsNaN(least), hn::BitCast(d, hn::Set(bits, quiet)), result);
    }
};

/// Compares f16 and bf16 without conversion: as integers in the order of the numbers that they
/// represent. `infinity` is that of the format. NaN becomes the integer at the winning end.
template <bool greatest, std::uint16_t infinity>
struct OfHalves {
    static constexpr bool takes_long = true;  // see sweep
    static constexpr std::int16_t nan_key = greatest ? 32767 : -32768;

    // Reverses the order of negative numbers; it is its own inverse.
    template <class D, class V>
    static HWY_INLINE V flip(D d, V v) {
        return hn::Xor(v, hn::And(hn::BroadcastSignBit(v), hn::Set(d, std::int16_t{0x7fff})));
    }
    template <class D, class V>
    static HWY_INLINE V first(D d, V v) {
        auto const magnitude = hn::And(v, hn::Set(d, std::int16_t{0x7fff}));
        auto const nan = hn::Gt(magnitude, hn::Set(d, static_cast<std::int16_t>(infinity)));
        return hn::IfThenElse(nan, hn::Set(d, nan_key), flip(d, v));
    }
    template <class D, class V>
    static HWY_INLINE V next(D d, V best, V v) {
        return OfIntegers<greatest>::next(d, best, first(d, v));
    }
    template <class D, class V>
    static HWY_INLINE V finish(D d, V best) {
        constexpr std::int16_t quiet = infinity | (infinity == 0x7c00 ? 0x200 : 0x40);
        auto const nan = hn::Eq(best, hn::Set(d, nan_key));
        return hn::IfThenElse(nan, hn::Set(d, quiet), flip(d, best));
    }
};

template <bool greatest>
Kernels kernel_of(DataType::Kind type) {
    using Kind = DataType::Kind;
    using Integers = OfIntegers<greatest>;
    // clang-format off
    switch (type) {
        case Kind::f16: return kernels_of<Plain<std::int16_t>, OfHalves<greatest, 0x7c00>>();
        case Kind::bf16: return kernels_of<Plain<std::int16_t>, OfHalves<greatest, 0x7f80>>();
        case Kind::f32: return kernels_of<Plain<float>, OfFloats<greatest>>();
        case Kind::f64: return kernels_of<Plain<double>, OfFloats<greatest>>();
        case Kind::i8: return kernels_of<Plain<std::int8_t>, Integers>();
        case Kind::i16: return kernels_of<Plain<std::int16_t>, Integers>();
        case Kind::i32: return kernels_of<Plain<std::int32_t>, Integers>();
        case Kind::i64: return kernels_of<Plain<std::int64_t>, Integers>();
        case Kind::u8: return kernels_of<Plain<std::uint8_t>, Integers>();
        case Kind::u16: return kernels_of<Plain<std::uint16_t>, Integers>();
        case Kind::u32: return kernels_of<Plain<std::uint32_t>, Integers>();
        case Kind::u64: return kernels_of<Plain<std::uint64_t>, Integers>();
        default: return {};
    }
    // clang-format on
}

Kernels min_kernel(DataType::Kind type) { return kernel_of<false>(type); }
Kernels max_kernel(DataType::Kind type) { return kernel_of<true>(type); }

}  // namespace sinew::collectives::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sinew::collectives::kernels {

Kernels extremum(ReduceOp::Kind op, DataType::Kind type) {
    if (op == ReduceOp::Kind::min) return SINEW_DISPATCH(min_kernel)(type);
    if (op == ReduceOp::Kind::max) return SINEW_DISPATCH(max_kernel)(type);
    return {};
}

}  // namespace sinew::collectives::kernels
#endif
