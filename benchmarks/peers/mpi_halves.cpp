// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/peers/mpi_halves.hpp"

#include <sinew/error.hpp>

#include "benchmarks/peers/mpi_call.hpp"
#include "benchmarks/support/text.hpp"
#include "collectives/reducer.hpp"

namespace sinew::bench {

namespace {

using TypeKind = DataType::Kind;
using OpKind = ReduceOp::Kind;

/// MPI_User_function: combined[i] = lower[i] op combined[i].
template <TypeKind type, OpKind op>
void combine(void* lower, void* combined, int* count, MPI_Datatype*) {
    static auto const kernel = collectives::predefined_kernel(op, type);
    void const* const inputs[] = {lower, combined};
    kernel(combined, inputs, 2, static_cast<std::size_t>(*count));
}

template <TypeKind type>
MPI_User_function* function_of(OpKind op) {
    switch (op) {
        case OpKind::sum:
            return combine<type, OpKind::sum>;
        case OpKind::prod:
            return combine<type, OpKind::prod>;
        case OpKind::min:
            return combine<type, OpKind::min>;
        case OpKind::max:
            return combine<type, OpKind::max>;
        default:
            return nullptr;
    }
}

}  // namespace

bool is_half(DataType type) {
    return type.kind() == TypeKind::f16 || type.kind() == TypeKind::bf16;
}

HalvesOperation::HalvesOperation(ReduceOp const& op, DataType type) {
    auto* const function = type.kind() == TypeKind::f16 ? function_of<TypeKind::f16>(op.kind())
                                                        : function_of<TypeKind::bf16>(op.kind());
    if (function == nullptr)
        throw UsageError(text(op.name(), " of ", type.name(), " is not defined for MPI"));
    check_mpi(PMPI_Op_create(function, 1, &op_));
}

HalvesOperation::~HalvesOperation() {
    int ended = 0;
    if (PMPI_Finalized(&ended) == MPI_SUCCESS && ended == 0) PMPI_Op_free(&op_);
}

}  // namespace sinew::bench
