// SPDX-License-Identifier: Apache-2.0
#include <complex>

#include "benchmarks/reduce/contestants.hpp"

namespace sinew::bench {
namespace {

struct Sum {
    template <class T>
    T operator()(T a, T b) const {
        return static_cast<T>(a + b);
    }
};
struct Prod {
    template <class T>
    T operator()(T a, T b) const {
        return static_cast<T>(a * b);
    }
};
struct Min {
    template <class T>
    T operator()(T a, T b) const {
        return b < a ? b : a;
    }
};
struct Max {
    template <class T>
    T operator()(T a, T b) const {
        return a < b ? b : a;
    }
};
struct BitAnd {
    template <class T>
    T operator()(T a, T b) const {
        return static_cast<T>(a & b);
    }
};
struct LogicalAnd {
    template <class T>
    T operator()(T a, T b) const {
        return a && b;
    }
};

template <class T, class Op>
void loop(void* out, void const* left, void const* right, std::size_t count) {
    auto* const result = static_cast<T*>(out);
    auto const* const a = static_cast<T const*>(left);
    auto const* const b = static_cast<T const*>(right);
    for (std::size_t i = 0; i < count; ++i) result[i] = Op{}(a[i], b[i]);
}

using Loop = void (*)(void*, void const*, void const*, std::size_t);

template <class T>
Loop real_loop(ReduceOp::Kind op) {
    switch (op) {
        case ReduceOp::Kind::sum:
        case ReduceOp::Kind::average:
            return loop<T, Sum>;
        case ReduceOp::Kind::prod:
            return loop<T, Prod>;
        case ReduceOp::Kind::min:
            return loop<T, Min>;
        case ReduceOp::Kind::max:
            return loop<T, Max>;
        default:
            return nullptr;
    }
}

template <class T>
Loop integer_loop(ReduceOp::Kind op) {
    if (op == ReduceOp::Kind::bit_and) return loop<T, BitAnd>;
    if (op == ReduceOp::Kind::logical_and) return loop<T, LogicalAnd>;
    return real_loop<T>(op);
}

// Adds halves as floats and rounds after each step, as a loop over the type does.
template <class Half>
struct HalfSum {
    Half operator()(Half a, Half b) const { return Half(float(a) + float(b)); }
};

Loop find_loop(ReduceOp::Kind op, DataType::Kind type) {
    using Kind = DataType::Kind;
    bool const sums = op == ReduceOp::Kind::sum || op == ReduceOp::Kind::average;
    switch (type) {
        case Kind::f16:
            return sums ? loop<float16, HalfSum<float16>> : nullptr;
        case Kind::bf16:
            return sums ? loop<bfloat16, HalfSum<bfloat16>> : nullptr;
        case Kind::f32:
            return real_loop<float>(op);
        case Kind::f64:
            return real_loop<double>(op);
        case Kind::c64:
            return sums ? loop<std::complex<float>, Sum> : nullptr;
        case Kind::c128:
            return sums ? loop<std::complex<double>, Sum> : nullptr;
        case Kind::i8:
            return integer_loop<std::int8_t>(op);
        case Kind::i16:
            return integer_loop<std::int16_t>(op);
        case Kind::i32:
            return integer_loop<std::int32_t>(op);
        case Kind::i64:
            return integer_loop<std::int64_t>(op);
        case Kind::u8:
            return integer_loop<std::uint8_t>(op);
        case Kind::u16:
            return integer_loop<std::uint16_t>(op);
        case Kind::u32:
            return integer_loop<std::uint32_t>(op);
        case Kind::u64:
            return integer_loop<std::uint64_t>(op);
        default:
            return nullptr;
    }
}

}  // namespace

Combine plain_loop(ReduceOp const& op, DataType type) {
    Loop const step = find_loop(op.kind(), type.kind());
    if (step == nullptr) return {};
    return [step](void* out, std::vector<void const*> const& in, std::size_t count) {
        step(out, in[0], in[1], count);
        for (std::size_t k = 2; k < in.size(); ++k) step(out, out, in[k], count);
    };
}

}  // namespace sinew::bench
