// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>

#include "tests/comm/suite/suite_calls.hpp"

namespace sinew::tests {

/// Tests every collective on elements of type T with every operation defined on them.
template <class T>
void suite_of_type(Communicator& comm) {
    using Kind = ReduceOp::Kind;
    // None, one, some; and more than the widest kernel processes at a time, with a remainder.
    for (std::size_t const count : {0, 1, 17, 261}) {
        Suite<T> suite(comm, count, {});
        suite.movements();
        for (int kind = 0; kind < static_cast<int>(Kind::user); ++kind)
            if (ReduceOp const op(static_cast<Kind>(kind)); op.accepts(data_type_of<T>()))
                suite.reductions(op);
    }
    // Long enough for every large-message algorithm, short enough for all types. Sanitizers map
    // each large buffer again, with its shadow memory.
#if defined(SINEW_TEST_ASAN) || defined(SINEW_TEST_TSAN)
    constexpr std::size_t large = 100'003 / sizeof(T);
#else
    constexpr std::size_t large = 100'003;
#endif
    Suite<T> suite(comm, large, {});
    suite.allreduce(is_indexed<T> ? minloc : sum);
    suite.reduce_scatter_block(is_indexed<T> ? maxloc : prod);
    suite.broadcast(0);
    suite.allgather();
}

// One source file for each group of types, since a single one would take a minute to compile.
void suite_of_floats(Communicator& comm);
void suite_of_pairs(Communicator& comm);  ///< complex numbers, and values with an index
void suite_of_signed(Communicator& comm);
void suite_of_unsigned(Communicator& comm);

}  // namespace sinew::tests
