// SPDX-License-Identifier: Apache-2.0
#include <sinew/comm/reduce_op.hpp>

#include <array>

#include <sinew/error.hpp>

#include "src/base/text.hpp"

namespace sinew {
namespace {

// The order is that of ReduceOp::Kind.
// clang-format off
constexpr std::array operation_names{
    "sum", "prod", "min", "max",
    "logical_and", "logical_or", "logical_xor",
    "bit_and", "bit_or", "bit_xor",
    "minloc", "maxloc",
    "average",
};
// clang-format on
static_assert(operation_names.size() + 1 ==
              ReduceOp::kinds);  // user-defined ones bring their own name

}  // namespace

ReduceOp::ReduceOp(std::shared_ptr<UserFunction const> function, DataType type,
                   Commutative commutative, std::string name)
    : kind_(Kind::user), commutative_(commutative),
      user_(std::make_shared<User>(User{std::move(function), type, std::move(name)})) {}

std::string ReduceOp::name() const {
    if (user_) return user_->name;
    // The user-defined operation of another rank is known by its kind alone.
    return kind_ == Kind::user ? "user-defined" : operation_names[static_cast<std::size_t>(kind_)];
}

bool ReduceOp::accepts(DataType type) const {
    // clang-format off
    switch (kind_) {
        case Kind::sum:
        case Kind::prod: return type.is_floating() || type.is_integer();
        case Kind::min:
        case Kind::max: return type.is_integer() || (type.is_floating() && !type.is_complex());
        case Kind::logical_and:
        case Kind::logical_or:
        case Kind::logical_xor:
        case Kind::bit_and:
        case Kind::bit_or:
        case Kind::bit_xor: return type.is_integer();
        case Kind::minloc:
        case Kind::maxloc: return type.is_indexed();
        case Kind::average: return type.is_floating();
        case Kind::user: return user_ && type == user_->type;
    }
    // clang-format on
    return false;
}

bool ReduceOp::order_matters(DataType type) const {
    // clang-format off
    switch (kind_) {
        case Kind::sum:
        case Kind::prod:
        case Kind::average: return type.is_floating();
        case Kind::user: return true;
        default: return false;
    }
    // clang-format on
}

ReduceOp parse_reduce_op(std::string const& name) {
    for (std::size_t i = 0; i < operation_names.size(); ++i)
        if (name == operation_names[i]) return ReduceOp(static_cast<ReduceOp::Kind>(i));
    std::string known;
    for (char const* each : operation_names) known += text(known.empty() ? "" : ", ", each);
    throw UsageError(
        text("there is no reduction \"", name, "\" (there are: ", known, "). Choose one of these"));
}

}  // namespace sinew
