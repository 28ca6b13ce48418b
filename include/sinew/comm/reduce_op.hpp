// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include <sinew/comm/data_type.hpp>

namespace sinew {

enum class Commutative : bool { no, yes };

/// How elements of several ranks are combined into one. A value that is cheap to copy.
///
/// The predefined operations are the objects below (`sum`, `prod`, ...). `reduce_op<T>(f)` makes
/// one from a function `T f(T const& lower, T const& higher)`. The function must be associative; it
/// need not be commutative, because operands are passed in rank order.
class ReduceOp {
public:
    enum class Kind : std::uint8_t {
        sum,
        prod,
        min,
        max,
        logical_and,
        logical_or,
        logical_xor,
        bit_and,
        bit_or,
        bit_xor,
        minloc,
        maxloc,
        average,
        user,
    };
    static constexpr int kinds = static_cast<int>(Kind::user) + 1;

    /// out[i] = f(lower[i], higher[i]); `out` may be `lower` or `higher`.
    struct UserFunction {
        virtual ~UserFunction() = default;
        virtual void apply(void* out, void const* lower, void const* higher,
                           std::size_t count) const = 0;
    };

    constexpr explicit ReduceOp(Kind kind) : kind_(kind) {}
    ReduceOp(std::shared_ptr<UserFunction const> function, DataType type, Commutative commutative,
             std::string name);

    Kind kind() const { return kind_; }
    bool commutative() const { return commutative_ == Commutative::yes; }
    std::string name() const;
    /// Null unless the operation is user-defined.
    UserFunction const* user_function() const { return user_ ? user_->function.get() : nullptr; }
    /// Whether the operation is defined on elements of this type.
    bool accepts(DataType type) const;
    /// Whether the bits of the result depend on the order in which the ranks are combined.
    bool order_matters(DataType type) const;

private:
    struct User {
        std::shared_ptr<UserFunction const> function;
        DataType type;
        std::string name;
    };
    Kind kind_;
    Commutative commutative_ = Commutative::yes;
    std::shared_ptr<User const> user_;
};

inline ReduceOp const sum{ReduceOp::Kind::sum};
inline ReduceOp const prod{ReduceOp::Kind::prod};
inline ReduceOp const min{ReduceOp::Kind::min};
inline ReduceOp const max{ReduceOp::Kind::max};
inline ReduceOp const logical_and{ReduceOp::Kind::logical_and};
inline ReduceOp const logical_or{ReduceOp::Kind::logical_or};
inline ReduceOp const logical_xor{ReduceOp::Kind::logical_xor};
inline ReduceOp const bit_and{ReduceOp::Kind::bit_and};
inline ReduceOp const bit_or{ReduceOp::Kind::bit_or};
inline ReduceOp const bit_xor{ReduceOp::Kind::bit_xor};
/// The smallest (largest) value and its index; of equal values, the smaller index.
inline ReduceOp const minloc{ReduceOp::Kind::minloc};
inline ReduceOp const maxloc{ReduceOp::Kind::maxloc};
/// The sum divided by the number of ranks; for floating types only.
inline ReduceOp const average{ReduceOp::Kind::average};

/// The operation with the given name ("sum", "logical_and", ...). Throws UsageError, which lists
/// the names, if there is none.
ReduceOp parse_reduce_op(std::string const& name);

/// Makes a user-defined operation on elements of type T. `function` is called by the thread that
/// makes progress; for non-blocking calls that may be a thread of the library.
template <Element T, class Function>
ReduceOp reduce_op(Function function, Commutative commutative = Commutative::yes,
                   std::string name = "user") {
    struct Typed final : ReduceOp::UserFunction {
        explicit Typed(Function f) : function(std::move(f)) {}
        void apply(void* out, void const* lower, void const* higher,
                   std::size_t count) const override {
            for (std::size_t i = 0; i < count;
                 ++i) {  // memcpy: buffers of opaque bytes may be unaligned
                T a, b;
                std::memcpy(&a, static_cast<char const*>(lower) + i * sizeof(T), sizeof(T));
                std::memcpy(&b, static_cast<char const*>(higher) + i * sizeof(T), sizeof(T));
                T const result = function(a, b);
                std::memcpy(static_cast<char*>(out) + i * sizeof(T), &result, sizeof(T));
            }
        }
        Function function;
    };
    return {std::make_shared<Typed>(std::move(function)), data_type_of<T>(), commutative,
            std::move(name)};
}

}  // namespace sinew
