// SPDX-License-Identifier: Apache-2.0
// The loop that all kernels share: one pass over 2 to 8 inputs. Compiled once per instruction set.
//
// An operation is a struct of three functions on vectors: `first` makes the accumulator from the
// first input, `next` takes one more input into it, `finish` makes the result of it.
#if defined(SINEW_REDUCE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SINEW_REDUCE_INL
#undef SINEW_REDUCE_INL
#else
#define SINEW_REDUCE_INL
#endif

#include "collectives/kernels/lanes_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace sinew::collectives::kernels::HWY_NAMESPACE {

/// For operations whose accumulator is what they load and store.
struct AsIs {
    template <class D, class V>
    static HWY_INLINE V first(D, V v) {
        return v;
    }
    template <class D, class V>
    static HWY_INLINE V finish(D, V v) {
        return v;
    }
};

using Inputs = void const* const*;

HWY_INLINE Byte const* at(void const* input, std::size_t offset) {
    return static_cast<Byte const*>(input) + offset;
}

template <class Element, class Op, class D>
HWY_INLINE auto combine_at(D d, Inputs in, int inputs, std::size_t offset) {
    auto sum = Op::first(d, Element::load(d, at(in[0], offset)));
    for (int k = 1; k < inputs; ++k) sum = Op::next(d, sum, Element::load(d, at(in[k], offset)));
    return Op::finish(d, sum);
}

// Four vectors at a time hide the latency of the operation and the loop over the inputs.
template <class Element, class Op, class D>
HWY_INLINE void combine_four(D d, Byte* out, Inputs in, int inputs, std::size_t offset) {
    constexpr std::size_t step = hn::MaxLanes(D()) * Element::bytes;
    Byte const* p = at(in[0], offset);
    auto a = Op::first(d, Element::load(d, p));
    auto b = Op::first(d, Element::load(d, p + step));
    auto c = Op::first(d, Element::load(d, p + 2 * step));
    auto e = Op::first(d, Element::load(d, p + 3 * step));
    for (int k = 1; k < inputs; ++k) {
        p = at(in[k], offset);
        a = Op::next(d, a, Element::load(d, p));
        b = Op::next(d, b, Element::load(d, p + step));
        c = Op::next(d, c, Element::load(d, p + 2 * step));
        e = Op::next(d, e, Element::load(d, p + 3 * step));
    }
    Element::store(d, Op::finish(d, a), out + offset);
    Element::store(d, Op::finish(d, b), out + offset + step);
    Element::store(d, Op::finish(d, c), out + offset + 2 * step);
    Element::store(d, Op::finish(d, e), out + offset + 3 * step);
}

// At least one vector. What does not fill one is part of a last vector that ends with the data and
// overlaps its predecessor: computed first and stored last, since `out` may be one of the inputs.
template <class Element, class Op, class D>
HWY_INLINE void sweep(D d, Byte* out, Inputs in, int inputs, std::size_t bytes) {
    constexpr std::size_t step = hn::MaxLanes(D()) * Element::bytes;
    std::size_t const last = bytes - step;
    auto const end = combine_at<Element, Op>(d, in, inputs, last);
    std::size_t offset = 0;
    for (; offset + 4 * step <= bytes; offset += 4 * step)
        combine_four<Element, Op>(d, out, in, inputs, offset);
    for (; offset < last; offset += step)
        Element::store(d, combine_at<Element, Op>(d, in, inputs, offset), out + offset);
    Element::store(d, end, out + last);
}

template <class Element, class Op>
void reduce(void* result, Inputs in, int inputs, std::size_t count) {
    using Lane = typename Element::Lane;
    hn::ScalableTag<Lane> const full;
    hn::CappedTag<Lane, 16 / sizeof(Lane)> const block;
    hn::CappedTag<Lane, 1> const one;
    auto* const out = static_cast<Byte*>(result);
    std::size_t const bytes = count * Element::bytes;
    if (count >= hn::MaxLanes(full)) return sweep<Element, Op>(full, out, in, inputs, bytes);
    if constexpr (hn::MaxLanes(block) < hn::MaxLanes(full))
        if (count >= hn::MaxLanes(block)) return sweep<Element, Op>(block, out, in, inputs, bytes);
    for (std::size_t offset = 0; offset < bytes; offset += Element::bytes)
        Element::store(one, combine_at<Element, Op>(one, in, inputs, offset), out + offset);
}

}  // namespace sinew::collectives::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
