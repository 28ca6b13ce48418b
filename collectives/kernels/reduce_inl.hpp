// SPDX-License-Identifier: Apache-2.0
// The loop that all kernels share: one pass over 2 to 8 inputs. Compiled once per instruction set.
//
// An operation is a struct of three functions on vectors: `first` makes the accumulator from the
// first input, `next` adds one more input to it, `finish` turns it into the result.
#if defined(SINEW_REDUCE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SINEW_REDUCE_INL
#undef SINEW_REDUCE_INL
#else
#define SINEW_REDUCE_INL
#endif

#include <hwy/cache_control.h>

#include "collectives/kernels/copy.hpp"
#include "collectives/kernels/kernels.hpp"
#include "collectives/kernels/lanes_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace sinew::collectives::kernels::HWY_NAMESPACE {

/// The base of operations whose accumulator has the representation of the elements.
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

HWY_INLINE Byte const* at(void const* input, std::size_t offset) {
    return static_cast<Byte const*>(input) + offset;
}

// Copies at most 128 bytes.
HWY_INLINE void copy_part(Byte* to, Byte const* from, std::size_t bytes) {
    auto* const t = reinterpret_cast<std::byte*>(to);
    auto const* const f = reinterpret_cast<std::byte const*>(from);
    std::size_t const first = bytes > 64 ? 64 : bytes;
    copy_in_line(t, f, first);
    if (bytes > first) copy_in_line(t + first, f + first, bytes - first);
}

// Vectors that begin with a part of each input, and end with zeros.
template <std::size_t step>
struct Copies {
    alignas(64) Byte vectors[max_fused_inputs][step];
    void const* in[max_fused_inputs] = {};

    HWY_INLINE void const* add(int k, Byte const* part, std::size_t bytes) {
        std::memset(vectors[k], 0, step);
        copy_part(vectors[k], part, bytes);
        return in[k] = vectors[k];
    }
};

/// Fetches the first 4 KiB of an input.
HWY_INLINE void fetch(void const* input, std::size_t bytes) {
    constexpr std::size_t most = 4096, line = 64;
    for (std::size_t offset = 0; offset < (bytes < most ? bytes : most); offset += line)
        hwy::Prefetch(at(input, offset));
}

// Two inputs, the usual case. There is no loop over inputs, so pointers stay in registers.
struct TwoInputs {
    void const *lower, *higher;

    HWY_INLINE void fetch_line(std::size_t offset) const {
        hwy::Prefetch(at(lower, offset));
        hwy::Prefetch(at(higher, offset));
    }

    HWY_INLINE void fetch_all(std::size_t bytes) const {
        fetch(lower, bytes);
        fetch(higher, bytes);
    }
    template <std::size_t step>
    HWY_INLINE TwoInputs copied(Copies<step>& to, std::size_t offset, std::size_t bytes) const {
        return {to.add(0, at(lower, offset), bytes), to.add(1, at(higher, offset), bytes)};
    }

    template <class Element, class Op, class D>
    HWY_INLINE auto combine(D d, std::size_t offset) const {
        auto const sum = Op::first(d, Element::load(d, at(lower, offset)));
        return Op::finish(d, Op::next(d, sum, Element::load(d, at(higher, offset))));
    }
    template <class Element, class Op, class D>
    HWY_INLINE void combine_four(D d, Byte* out, std::size_t offset) const {
        constexpr std::size_t step = hn::MaxLanes(D()) * Element::bytes;
        HWY_UNROLL(4)
        for (std::size_t more = 0; more < 4 * step; more += step)
            Element::store(d, combine<Element, Op>(d, offset + more), out + offset + more);
    }
};

struct ManyInputs {
    void const* const* in;
    int inputs;

    HWY_INLINE void fetch_line(std::size_t offset) const {
        for (int k = 0; k < inputs; ++k) hwy::Prefetch(at(in[k], offset));
    }
    HWY_INLINE void fetch_all(std::size_t bytes) const {
        for (int k = 0; k < inputs; ++k) fetch(in[k], bytes);
    }
    template <std::size_t step>
    HWY_INLINE ManyInputs copied(Copies<step>& to, std::size_t offset, std::size_t bytes) const {
        for (int k = 0; k < inputs; ++k) to.add(k, at(in[k], offset), bytes);
        return {to.in, inputs};
    }

    template <class Element, class Op, class D>
    HWY_INLINE auto combine(D d, std::size_t offset) const {
        auto sum = Op::first(d, Element::load(d, at(in[0], offset)));
        for (int k = 1; k < inputs; ++k)
            sum = Op::next(d, sum, Element::load(d, at(in[k], offset)));
        return Op::finish(d, sum);
    }
    // Four vectors at a time share the loop over the inputs, which hides the latency of its steps.
    template <class Element, class Op, class D>
    HWY_INLINE void combine_four(D d, Byte* out, std::size_t offset) const {
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
};

// The number of bytes to skip so that whole vectors are stored at multiples of their size, or 0 if
// this is not a whole number of elements. Vectors across cache lines cost up to half the speed.
template <std::size_t step, std::size_t element>
HWY_INLINE std::size_t bytes_to_alignment(Byte const* p) {
    std::size_t const skip = (0 - reinterpret_cast<std::uintptr_t>(p)) % step;
    return skip % element == 0 ? skip : 0;
}

// Less than a vector at `offset`, by way of copies: nothing beyond it is read or written.
template <class Element, class Op, class D, class Inputs>
HWY_INLINE void combine_part(D d, Byte* out, Inputs in, std::size_t offset, std::size_t bytes) {
    constexpr std::size_t step = hn::MaxLanes(D()) * Element::bytes;
    if constexpr (step > Element::bytes) {
        Copies<step> copies;
        alignas(64) Byte result[step];
        Element::store(d, in.copied(copies, offset, bytes).template combine<Element, Op>(d, 0),
                       result);
        copy_part(out + offset, result, bytes);
    }
}

// Requires: at least one vector. Every byte is read once, in ascending order, and fewer than eight vectors are computed one
// in each step. Where an input lies in the cache of another core, to take four vectors in a step, or vectors that overlap,
// takes up to half as long again (Intel Xeon, Emerald Rapids; docs/decisions/0019).
template <class Element, class Op, class D, class Inputs>
HWY_INLINE void sweep(D d, Byte* out, Inputs in, std::size_t bytes) {
    constexpr std::size_t step = hn::MaxLanes(D()) * Element::bytes;
    constexpr std::size_t worth_aligning = 16 * step, worth_unrolling = 8 * step;
    // Some elements (converted ones) and operations take so many instructions that a processor begins few loads ahead: without this, 1 KiB of
    // bf16 takes twice as long as of f32 (AMD EPYC).
    if constexpr (
        requires { Element::converts; } || requires { Op::takes_long; })
        in.fetch_all(bytes);
    std::size_t offset = bytes < worth_aligning ? 0 : bytes_to_alignment<step, Element::bytes>(out);
    if (offset > 0) combine_part<Element, Op>(d, out, in, 0, offset);
    if (bytes >= worth_unrolling)
        for (; offset + 4 * step <= bytes; offset += 4 * step)
            in.template combine_four<Element, Op>(d, out, offset);
    for (; offset + step <= bytes; offset += step)
        Element::store(d, in.template combine<Element, Op>(d, offset), out + offset);
    if (offset < bytes) combine_part<Element, Op>(d, out, in, offset, bytes - offset);
}

// Does the same for a few vectors.
template <class Element, class Op, class D, class Inputs>
HWY_INLINE void short_sweep(D d, Byte* out, Inputs in, std::size_t bytes) {
    constexpr std::size_t step = hn::MaxLanes(D()) * Element::bytes;
    auto const end = in.template combine<Element, Op>(d, bytes - step);
    for (std::size_t offset = 0; offset < bytes - step; offset += step)
        Element::store(d, in.template combine<Element, Op>(d, offset), out + offset);
    Element::store(d, end, out + bytes - step);
}

template <class Element, class Op, class Inputs>
HWY_INLINE void reduce_by_count(Byte* out, Inputs in, std::size_t count) {
    using Lane = typename Element::Lane;
    hn::ScalableTag<Lane> const full;
    hn::CappedTag<Lane, 16 / sizeof(Lane)> const block;
    hn::CappedTag<Lane, 1> const one;
    std::size_t const bytes = count * Element::bytes;
    if (count >= hn::MaxLanes(full)) return sweep<Element, Op>(full, out, in, bytes);
    if constexpr (hn::MaxLanes(block) < hn::MaxLanes(full))
        if (count >= hn::MaxLanes(block)) return short_sweep<Element, Op>(block, out, in, bytes);
    for (std::size_t offset = 0; offset < bytes; offset += Element::bytes)
        Element::store(one, in.template combine<Element, Op>(one, offset), out + offset);
}

// A store that bypasses the cache leaves the processor's queue of stores late, and when the queue is full, nothing more begins, not even
// loads. So inputs are fetched ahead, which a processor does by itself only within a page.
template <class Element, class Op, bool completes, class Inputs>
HWY_INLINE void stream_lines(StreamedResults const& to, Inputs in, std::size_t offset,
                             std::size_t bytes) {
    hn::ScalableTag<typename Element::Lane> const d;
    constexpr std::size_t line = 64, fetched_ahead = 4096;
    constexpr std::size_t step = hn::MaxLanes(d) * Element::bytes;
    for (std::size_t const end = offset + bytes; offset < end; offset += line) {
        in.fetch_line(offset + fetched_ahead);
        for (std::size_t at = offset; at < offset + line; at += step) {
            auto result = Element::stored(d, in.template combine<Element, Op>(d, at));
            if constexpr (completes)
                result = Element::stored(d, completed(Element::loaded(d, result), to.completion));
            hn::DFromV<decltype(result)> const stored;
            using Lane = hn::TFromD<decltype(stored)>;
            for (std::size_t i = 0; i < to.count; ++i)
                hn::Stream(result, stored, reinterpret_cast<Lane*>(to.places[i] + at));
        }
    }
}
template <class Element, class Op, class Inputs>
HWY_INLINE void complete_lines(StreamedResults const& to, Inputs in, std::size_t offset,
                               std::size_t bytes) {
    if constexpr (requires { Op::is_sum; } && hwy::IsFloat<typename Element::Computed>())
        if (to.completion.exists()) return stream_lines<Element, Op, true>(to, in, offset, bytes);
    stream_lines<Element, Op, false>(to, in, offset, bytes);
}

/// A StreamKernel (see collectives/reducer.hpp).
template <class Element, class Op>
void reduce_streaming(StreamedResults const& to, void const* const* in, int inputs,
                      std::size_t offset, std::size_t bytes) {
    if (inputs == 2) complete_lines<Element, Op>(to, TwoInputs{in[0], in[1]}, offset, bytes);
    else complete_lines<Element, Op>(to, ManyInputs{in, inputs}, offset, bytes);
}

/// A Kernel (see collectives/reducer.hpp).
template <class Element, class Op>
void reduce(void* out, void const* const* in, int inputs, std::size_t count) {
    auto* const to = static_cast<Byte*>(out);
    if (inputs == 2) reduce_by_count<Element, Op>(to, TwoInputs{in[0], in[1]}, count);
    else reduce_by_count<Element, Op>(to, ManyInputs{in, inputs}, count);
}

/// Null if the elements, or this machine, have no vectors to store.
template <class Element, class Op>
constexpr StreamKernel stream_kernel() {
    constexpr hn::ScalableTag<typename Element::Lane> d;
    constexpr bool has_vectors = hn::MaxLanes(d) * Element::bytes >= 16;
    if constexpr (has_vectors && requires { typename Element::Computed; })
        return reduce_streaming<Element, Op>;
    else return nullptr;
}

/// Both kernels of an operation on elements.
template <class Element, class Op>
constexpr Kernels kernels_of() {
    return {reduce<Element, Op>, stream_kernel<Element, Op>()};
}

}  // namespace sinew::collectives::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
