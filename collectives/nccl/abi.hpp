// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <climits>
#include <cstddef>

/// The part of NCCL's binary interface that sinew uses, as nccl.h declares it from 2.14 to 2.28. It
/// is declared here, because sinew is built without NCCL and finds the library at run time. Where
/// nccl.h is installed, tests/gpu compares the two.
namespace sinew::collectives::nccl {

using Handle = struct OpaqueCommunicator*;  ///< ncclComm_t
using Stream = void*;                       ///< cudaStream_t, which is the driver's CUstream

/// ncclResult_t
enum Result : int {
    success = 0,
    unhandled_cuda_error = 1,
    system_error = 2,
    internal_error = 3,
    invalid_argument = 4,
    invalid_usage = 5,
    remote_error = 6,
    in_progress = 7,
};

/// ncclDataType_t; the fp8 types are since 2.24.
enum Type : int {
    type_i8 = 0,
    type_u8 = 1,
    type_i32 = 2,
    type_u32 = 3,
    type_i64 = 4,
    type_u64 = 5,
    type_f16 = 6,
    type_f32 = 7,
    type_f64 = 8,
    type_bf16 = 9,
};

/// ncclRedOp_t; operations that ncclRedOpCreatePreMulSum makes have larger values.
enum Op : int { op_sum = 0, op_prod = 1, op_max = 2, op_min = 3, op_avg = 4 };

/// ncclScalarResidence_t
enum Residence : int { scalar_device = 0, scalar_host_immediate = 1 };

struct UniqueId {
    char internal[128];
};

/// ncclConfig_t as of 2.14, the first one. NCCL reads `size` bytes, and takes its defaults for what
/// later versions have added.
struct Config {
    std::size_t size = sizeof(Config);
    unsigned magic = 0xcafebeef;
    unsigned version = 21400;
    int blocking = 0;
};

/// The functions of libnccl.so.2. Those below `optional` are null in versions that lack them.
struct Functions {
    int (*get_version)(int* version);
    int (*get_unique_id)(UniqueId* id);
    int (*init_rank_config)(Handle* comm, int ranks, UniqueId id, int rank, Config* config);
    int (*finalize)(Handle comm);
    int (*destroy)(Handle comm);
    int (*abort)(Handle comm);
    int (*async_error)(Handle comm, int* error);
    char const* (*error_string)(int result);
    char const* (*last_error)(Handle comm);
    int (*group_start)();
    int (*group_end)();
    int (*all_reduce)(void const* in, void* out, std::size_t count, int type, int op, Handle comm,
                      Stream stream);
    int (*reduce)(void const* in, void* out, std::size_t count, int type, int op, int root,
                  Handle comm, Stream stream);
    int (*broadcast)(void const* in, void* out, std::size_t count, int type, int root, Handle comm,
                     Stream stream);
    int (*reduce_scatter)(void const* in, void* out, std::size_t part, int type, int op,
                          Handle comm, Stream stream);
    int (*all_gather)(void const* in, void* out, std::size_t part, int type, Handle comm,
                      Stream stream);
    int (*send)(void const* data, std::size_t count, int type, int peer, Handle comm,
                Stream stream);
    int (*receive)(void* data, std::size_t count, int type, int peer, Handle comm, Stream stream);
    int (*create_pre_mul_sum)(int* op, void* scalar, int type, int residence, Handle comm);
    int (*destroy_op)(int op, Handle comm);
    // --- optional
    int (*revoke)(Handle comm, int flags);  ///< since 2.28.7
    int (*all_to_all)(void const* in, void* out, std::size_t part, int type, Handle comm,
                      Stream stream);  ///< since 2.28.3
};

}  // namespace sinew::collectives::nccl
