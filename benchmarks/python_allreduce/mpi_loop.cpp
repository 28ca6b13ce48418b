// SPDX-License-Identifier: Apache-2.0
// What a C++ program spends on its allreduces, for the benchmark of python/sinew, which loads this as a library:
// the loop is here, so that no interpreter is in the time. The C++ contestant has its own communicator of the same
// ranks, in a copy of libsinew of its own.
#include <mpi.h>

#include <chrono>
#include <exception>
#include <memory>

#include <sinew/sinew.h>
#include <sinew/mpi.hpp>

namespace {

std::unique_ptr<sinew::Communicator> cpp_communicator;

template <class Call>
double seconds_of(int calls, Call&& call) {
    auto const start = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) call();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

using CAllreduce = int (*)(sinew_communicator*, void const*, size_t, void*, size_t, sinew_type,
                           sinew_op, sinew_options const*);

/// Collective: makes the C++ contestant's communicator. Returns whether it could.
extern "C" __attribute__((visibility("default"))) int loop_open() {
    try {
        cpp_communicator =
            std::make_unique<sinew::Communicator>(sinew::mpi::communicator(MPI_COMM_WORLD));
        return 1;
    } catch (std::exception const&) {
        return 0;
    }
}

extern "C" __attribute__((visibility("default"))) void loop_close() { cpp_communicator.reset(); }

/// Seconds of `calls` calls of Communicator::allreduce on f32; below 0 if one failed.
extern "C" __attribute__((visibility("default"))) double loop_cpp(float const* in, float* out,
                                                                  size_t count, int calls) {
    try {
        return seconds_of(calls, [&] {
            cpp_communicator->allreduce({in, count, sinew::DataType::Kind::f32},
                                        {out, count, sinew::DataType::Kind::f32}, sinew::sum);
        });
    } catch (std::exception const&) {
        return -1;
    }
}

/// The same of sinew_allreduce, which the caller passes, on the caller's communicator.
extern "C" __attribute__((visibility("default"))) double loop_c(CAllreduce allreduce,
                                                                sinew_communicator* comm,
                                                                float const* in, float* out,
                                                                size_t count, int calls) {
    int failures = 0;
    double const seconds = seconds_of(calls, [&] {
        failures += allreduce(comm, in, count, out, count, SINEW_F32, SINEW_SUM, nullptr) != 0;
    });
    return failures == 0 ? seconds : -1;
}
