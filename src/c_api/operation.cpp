// SPDX-License-Identifier: Apache-2.0
#include "src/c_api/operation.hpp"

#include <memory>
#include <string>

#include "src/c_api/arguments.hpp"

namespace sinew::c_api {

namespace {

/// A C function as an operation.
class CFunction final : public ReduceOp::UserFunction {
public:
    CFunction(sinew_function function, void* context, std::string name)
        : function_(function), context_(context), name_(std::move(name)) {}

    void apply(void* out, void const* lower, void const* higher, std::size_t count) const override {
        int const code = function_(out, lower, higher, count, context_);
        if (code != 0)
            throw CallbackFailed(
                text("the operation ", name_, " of the program returned ", code, " (0: success)"),
                code);
    }

private:
    sinew_function function_;
    void* context_;
    std::string name_;
};

}  // namespace

}  // namespace sinew::c_api

using namespace sinew;
using namespace sinew::c_api;

int sinew_op_create(sinew_function function, void* context, sinew_type type, int commutative,
                    char const* name, sinew_op* op) {
    return guarded([&] {
        required(op, "the pointer for the operation");
        required(function, "the function");
        std::string const words = name != nullptr ? name : "user";
        auto made = std::make_unique<ReduceOp>(
            std::make_shared<CFunction>(function, context, words), data_type(type),
            commutative != 0 ? Commutative::yes : Commutative::no, words);
        *op = reinterpret_cast<sinew_op>(made.release());
    });
}

void sinew_op_destroy(sinew_op op) {
    if (op >= first_user_operation) delete reinterpret_cast<ReduceOp*>(op);
}
