// SPDX-License-Identifier: Apache-2.0
// The kernels of bit_* and logical_*, for integers of each width; signedness makes no difference.
#include "collectives/kernels/dispatch.hpp"
#include "collectives/kernels/kernels.hpp"
#include "collectives/kernels/target_choice.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "collectives/kernels/bitwise.cpp"
#include <hwy/foreach_target.h>

#include "collectives/kernels/reduce_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace sinew::collectives::kernels::HWY_NAMESPACE {

struct BitAnd : AsIs {
    template <class D, class V>
    static HWY_INLINE V next(D, V a, V b) {
        return hn::And(a, b);
    }
};

struct BitOr : AsIs {
    template <class D, class V>
    static HWY_INLINE V next(D, V a, V b) {
        return hn::Or(a, b);
    }
};

struct BitXor : AsIs {
    template <class D, class V>
    static HWY_INLINE V next(D, V a, V b) {
        return hn::Xor(a, b);
    }
};

/// Returns 0 for lanes that are 0 and 1 for all others.
template <class D, class V>
HWY_INLINE V truth(D d, V v) {
    return hn::Min(v, hn::Set(d, hn::TFromD<D>{1}));
}

// The minimum of unsigned numbers is nonzero if and only if none of them is 0.
struct LogicalAnd : AsIs {
    template <class D, class V>
    static HWY_INLINE V next(D, V a, V b) {
        return hn::Min(a, b);
    }
    template <class D, class V>
    static HWY_INLINE V finish(D d, V v) {
        return truth(d, v);
    }
};

struct LogicalOr : BitOr {
    template <class D, class V>
    static HWY_INLINE V finish(D d, V v) {
        return truth(d, v);
    }
};

struct LogicalXor : AsIs {
    template <class D, class V>
    static HWY_INLINE V first(D d, V v) {
        return truth(d, v);
    }
    template <class D, class V>
    static HWY_INLINE V next(D d, V a, V b) {
        return hn::Xor(a, truth(d, b));
    }
};

template <class Op>
Kernels of_width(std::size_t width) {
    // clang-format off
    switch (width) {
        case 1: return kernels_of<Plain<std::uint8_t>, Op>();
        case 2: return kernels_of<Plain<std::uint16_t>, Op>();
        case 4: return kernels_of<Plain<std::uint32_t>, Op>();
        default: return kernels_of<Plain<std::uint64_t>, Op>();
    }
    // clang-format on
}

Kernels bitwise_kernel(ReduceOp::Kind op, std::size_t width) {
    using Kind = ReduceOp::Kind;
    // clang-format off
    switch (op) {
        case Kind::bit_and: return of_width<BitAnd>(width);
        case Kind::bit_or: return of_width<BitOr>(width);
        case Kind::bit_xor: return of_width<BitXor>(width);
        case Kind::logical_and: return of_width<LogicalAnd>(width);
        case Kind::logical_or: return of_width<LogicalOr>(width);
        case Kind::logical_xor: return of_width<LogicalXor>(width);
        default: return {};
    }
    // clang-format on
}

}  // namespace sinew::collectives::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sinew::collectives::kernels {

Kernels bitwise(ReduceOp::Kind op, DataType::Kind type) {
    DataType const element = type;
    if (!element.is_integer()) return {};
    return SINEW_DISPATCH(bitwise_kernel)(op, element.size());
}

}  // namespace sinew::collectives::kernels
#endif
