// SPDX-License-Identifier: Apache-2.0
// What a reduction needs besides its kernel: 16-bit floats to f32 and back, and the division that turns a
// sum into an average, or a multiplication.
#include <cmath>
#include <sinew/error.hpp>

#include "collectives/kernels/dispatch.hpp"
#include "collectives/kernels/target_choice.hpp"
#include "collectives/reducer.hpp"
#include "src/base/text.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "collectives/kernels/convert.cpp"
#include <hwy/foreach_target.h>

#include "collectives/kernels/halves_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace sinew::collectives::kernels::HWY_NAMESPACE {

// Calls f(tag, element index) for each full vector, then for each remaining element.
template <class Lane, class F>
HWY_INLINE void for_each_vector(std::size_t count, F const& f) {
    hn::ScalableTag<Lane> const full;
    hn::CappedTag<Lane, 1> const one;
    std::size_t i = 0;
    for (; i + hn::MaxLanes(full) <= count; i += hn::MaxLanes(full)) f(full, i);
    for (; i < count; ++i) f(one, i);
}

// A conversion in hardware makes a signaling NaN quiet; this function restores all its bits.
template <class D>
HWY_INLINE hn::Vec<D> with_signalling_nan(D d, hn::Vec<D> v, Byte const* p) {
    hn::Rebind<std::uint16_t, D> const half;
    hn::Rebind<std::int32_t, D> const word;
    auto const bits = hn::PromoteTo(word, load_lanes(half, p));
    auto const nan = hn::Gt(hn::And(bits, hn::Set(word, 0x7fff)), hn::Set(word, 0x7c00));
    auto const unmarked = hn::AndNot(hn::Set(word, 0x00400000), hn::BitCast(word, v));
    auto const mark = hn::ShiftLeft<13>(hn::And(bits, hn::Set(word, 0x200)));
    auto const exact = hn::BitCast(d, hn::Or(unmarked, mark));
    return hn::IfThenElse(hn::RebindMask(d, nan), exact, v);
}

template <class Half>
struct Widen {
    Byte* out;
    Byte const* in;
    template <class D>
    HWY_INLINE void operator()(D d, std::size_t i) const {
        auto v = Half::load(d, in + 2 * i);
        if constexpr (hwy::IsSame<Half, F16>()) v = with_signalling_nan(d, v, in + 2 * i);
        store_lanes(d, v, out + 4 * i);
    }
};

template <class Half>
struct Narrow {
    Byte* out;
    Byte const* in;
    template <class D>
    HWY_INLINE void operator()(D d, std::size_t i) const {
        Half::store(d, load_lanes(d, in + 4 * i), out + 2 * i);
    }
};

template <class Element>
struct Complete {
    Byte* data;
    Completion const& completion;
    template <class D>
    HWY_INLINE void operator()(D d, std::size_t i) const {
        Byte* const p = data + i * Element::bytes;
        Element::store(d, completed(Element::load(d, p), completion), p);
    }
};

/// How often a completion halves a number, if that is all that it does; else 0.
inline int halvings_of(Completion const& completion) {
    int exponent = 0;
    bool const halves = completion.kind == Completion::Kind::multiply &&
                        std::frexp(completion.number, &exponent) == 0.5 && exponent < 1;
    constexpr int most = 64;
    return halves && 1 - exponent <= most ? 1 - exponent : 0;
}

/// Halves bf16 numbers in their exponents, without conversion; a vector with a result that is not a normal number or zero is completed as others.
struct HalveBF16 {
    Byte* data;
    Completion const& completion;
    int halvings;  ///< at least 1
    template <class D>
    HWY_INLINE void operator()(D d, std::size_t i) const {
        Byte* const p = data + i * BF16Pairs::bytes;
        auto const v = load_lanes(d, p);
        auto const magnitude = hn::Add(v, v);  // the exponent is the upper byte
        auto const least = static_cast<std::uint16_t>((halvings + 1) << 8);
        auto const infinity = std::uint16_t{0xff00};
        auto const zero = hn::Eq(magnitude, hn::Zero(d));
        auto const normal = hn::Lt(hn::Sub(magnitude, hn::Set(d, least)),
                                   hn::Set(d, static_cast<std::uint16_t>(infinity - least)));
        if (!hn::AllTrue(d, hn::Or(zero, normal))) [[unlikely]]
            return Complete<BF16Pairs>{data, completion}(d, i);
        auto const lower = hn::Set(d, static_cast<std::uint16_t>(halvings << 7));
        store_lanes(d, hn::IfThenElse(zero, v, hn::Sub(v, lower)), p);
    }
};

void widen_to_f32(float* out, void const* in, std::size_t count, DataType::Kind from) {
    auto* const to = reinterpret_cast<Byte*>(out);
    auto const* const data = static_cast<Byte const*>(in);
    if (from == DataType::Kind::f16) for_each_vector<float>(count, Widen<F16>{to, data});
    else for_each_vector<float>(count, Widen<BF16>{to, data});
}

void narrow_from_f32(void* out, float const* in, std::size_t count, DataType::Kind to) {
    auto* const data = static_cast<Byte*>(out);
    auto const* const from = reinterpret_cast<Byte const*>(in);
    if (to == DataType::Kind::f16) for_each_vector<float>(count, Narrow<F16>{data, from});
    else for_each_vector<float>(count, Narrow<BF16>{data, from});
}

void complete(void* out, std::size_t count, DataType::Kind type, Completion const& completion) {
    using Kind = DataType::Kind;
    auto* const data = static_cast<Byte*>(out);
    if (int const halvings = halvings_of(completion); type == Kind::bf16 && halvings > 0)
        return for_each_vector<std::uint16_t>(count, HalveBF16{data, completion, halvings});
    // clang-format off
    switch (type) {
        case Kind::f16: return for_each_vector<float>(count, Complete<F16>{data, completion});
        case Kind::bf16: return for_each_vector<std::uint16_t>(count, Complete<BF16Pairs>{data, completion});
        case Kind::f32: return for_each_vector<float>(count, Complete<Plain<float>>{data, completion});
        default: break;
    }
    // clang-format on
    for_each_vector<double>(count, Complete<Plain<double>>{data, completion});
}

}  // namespace sinew::collectives::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sinew::collectives {

void widen(float* out, void const* in, std::size_t count, DataType from) {
    using namespace kernels;
    SINEW_DISPATCH(widen_to_f32)(out, in, count, from.kind());
}

void narrow(void* out, float const* in, std::size_t count, DataType to) {
    using namespace kernels;
    SINEW_DISPATCH(narrow_from_f32)(out, in, count, to.kind());
}

void Completion::apply(void* data, std::size_t count, DataType type) const {
    using namespace kernels;
    using Type = DataType::Kind;
    if (kind == Kind::none || count == 0) return;
    if (!type.is_floating())
        throw UsageError(text("average of ", type.name(),
                              " (must be of a floating or complex type). Use sum and divide"));
    Type const part = type == Type::c64 ? Type::f32 : type == Type::c128 ? Type::f64 : type.kind();
    std::size_t const numbers = type.is_complex() ? 2 * count : count;
    SINEW_DISPATCH(complete)(data, numbers, part, *this);
}

}  // namespace sinew::collectives
#endif
