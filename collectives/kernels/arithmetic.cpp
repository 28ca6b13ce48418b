// SPDX-License-Identifier: Apache-2.0
// The kernels of sum and prod. Signed integers are computed as unsigned, so they wrap.
#include "collectives/kernels/dispatch.hpp"
#include "collectives/kernels/kernels.hpp"
#include "collectives/kernels/target_choice.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "collectives/kernels/arithmetic.cpp"
#include <hwy/foreach_target.h>

#include "collectives/kernels/halves_inl.hpp"
#include "collectives/kernels/reduce_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace sinew::collectives::kernels::HWY_NAMESPACE {

struct Sum : AsIs {
    static constexpr bool is_sum = true;
    template <class D, class V>
    static HWY_INLINE V next(D, V a, V b) {
        return hn::Add(a, b);
    }
    template <class D, class V>
    static HWY_INLINE EvenOdd<V> next(D, EvenOdd<V> a, EvenOdd<V> b) {
        return {hn::Add(a.even, b.even), hn::Add(a.odd, b.odd)};
    }
};

// Highway cannot multiply bytes: even and odd bytes are multiplied in 16-bit lanes.
template <class D, class V>
HWY_INLINE V multiply_bytes(D d, V a, V b) {
    if constexpr (hn::MaxLanes(D()) == 1) {
        return hn::Set(d, static_cast<std::uint8_t>(hn::GetLane(a) * hn::GetLane(b)));
    } else {
        hn::Repartition<std::uint16_t, D> const pair;
        auto const a16 = hn::BitCast(pair, a), b16 = hn::BitCast(pair, b);
        auto const even = hn::And(hn::Mul(a16, b16), hn::Set(pair, std::uint16_t{0xff}));
        auto const odd = hn::Mul(hn::ShiftRight<8>(a16), hn::ShiftRight<8>(b16));
        return hn::BitCast(d, hn::Or(even, hn::ShiftLeft<8>(odd)));
    }
}

struct Prod : AsIs {
    template <class D, class V>
    static HWY_INLINE V next(D d, V a, V b) {
        if constexpr (sizeof(hn::TFromD<D>) == 1) return multiply_bytes(d, a, b);
        else return hn::Mul(a, b);
    }
    template <class D, class V>
    static HWY_INLINE EvenOdd<V> next(D, EvenOdd<V> a, EvenOdd<V> b) {
        return {hn::Mul(a.even, b.even), hn::Mul(a.odd, b.odd)};
    }
    // This is the textbook product; unlike C's Annex G, it does not recover infinities from NaN.
    template <class D, class V>
    static HWY_INLINE ComplexVector<V> next(D, ComplexVector<V> a, ComplexVector<V> b) {
        return {hn::Sub(hn::Mul(a.re, b.re), hn::Mul(a.im, b.im)),
                hn::Add(hn::Mul(a.re, b.im), hn::Mul(a.im, b.re))};
    }
};

// A complex sum is the sum of twice as many reals.
template <class T>
void complex_sum(void* out, void const* const* in, int inputs, std::size_t count) {
    reduce<Plain<T>, Sum>(out, in, inputs, 2 * count);
}

template <class Op>
Kernels real_kernel(DataType::Kind type) {
    using Kind = DataType::Kind;
    // clang-format off
    switch (type) {
        case Kind::f16: return kernels_of<F16, Op>();
        case Kind::bf16: return kernels_of<BF16Pairs, Op>();
        case Kind::f32: return kernels_of<Plain<float>, Op>();
        case Kind::f64: return kernels_of<Plain<double>, Op>();
        case Kind::i8:
        case Kind::u8: return kernels_of<Plain<std::uint8_t>, Op>();
        case Kind::i16:
        case Kind::u16: return kernels_of<Plain<std::uint16_t>, Op>();
        case Kind::i32:
        case Kind::u32: return kernels_of<Plain<std::uint32_t>, Op>();
        case Kind::i64:
        case Kind::u64: return kernels_of<Plain<std::uint64_t>, Op>();
        default: return {};
    }
    // clang-format on
}

Kernels sum_kernel(DataType::Kind type) {
    if (type == DataType::Kind::c64)
        return {complex_sum<float>, stream_kernel<Plain<float>, Sum>()};
    if (type == DataType::Kind::c128)
        return {complex_sum<double>, stream_kernel<Plain<double>, Sum>()};
    return real_kernel<Sum>(type);
}

Kernels prod_kernel(DataType::Kind type) {
    if (type == DataType::Kind::c64) return kernels_of<Complex<float>, Prod>();
    if (type == DataType::Kind::c128) return kernels_of<Complex<double>, Prod>();
    return real_kernel<Prod>(type);
}

}  // namespace sinew::collectives::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sinew::collectives::kernels {

Kernels arithmetic(ReduceOp::Kind op, DataType::Kind type) {
    // clang-format off
    switch (op) {
        case ReduceOp::Kind::sum:
        case ReduceOp::Kind::average: return SINEW_DISPATCH(sum_kernel)(type);
        case ReduceOp::Kind::prod: return SINEW_DISPATCH(prod_kernel)(type);
        default: return {};
    }
    // clang-format on
}

}  // namespace sinew::collectives::kernels
#endif
