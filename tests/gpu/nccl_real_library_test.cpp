// SPDX-License-Identifier: Apache-2.0
// The real NCCL and its headers, as far as they need no GPU: our declarations are theirs, the library
// loads, and its start fails cleanly without a driver.
#include <cuda.h>
#include <nccl.h>

#include <cstddef>

#include <gtest/gtest.h>

#include "collectives/nccl/library.hpp"
#include "src/base/gpus/cuda_driver.hpp"
#include "tests/comm/ranks.hpp"

namespace sinew::tests {
namespace {

namespace nccl = collectives::nccl;
using testing::HasSubstr;

// The binary interface that abi.hpp and cuda_driver.hpp declare.
static_assert(sizeof(nccl::UniqueId) == sizeof(ncclUniqueId));
static_assert(offsetof(nccl::Config, magic) == offsetof(ncclConfig_t, magic));
static_assert(offsetof(nccl::Config, version) == offsetof(ncclConfig_t, version));
static_assert(offsetof(nccl::Config, blocking) == offsetof(ncclConfig_t, blocking));
static_assert(nccl::Config{}.magic == 0xcafebeef && sizeof(nccl::Config) <= sizeof(ncclConfig_t));
static_assert(int{nccl::in_progress} == ncclInProgress &&
              int{nccl::remote_error} == ncclRemoteError);
static_assert(int{nccl::type_i8} == ncclInt8 && int{nccl::type_u8} == ncclUint8 &&
              int{nccl::type_i32} == ncclInt32 && int{nccl::type_u32} == ncclUint32 &&
              int{nccl::type_i64} == ncclInt64 && int{nccl::type_u64} == ncclUint64);
static_assert(int{nccl::type_f16} == ncclFloat16 && int{nccl::type_f32} == ncclFloat32 &&
              int{nccl::type_f64} == ncclFloat64 && int{nccl::type_bf16} == ncclBfloat16);
static_assert(int{nccl::op_sum} == ncclSum && int{nccl::op_prod} == ncclProd &&
              int{nccl::op_max} == ncclMax && int{nccl::op_min} == ncclMin);
static_assert(int{nccl::scalar_host_immediate} == ncclScalarHostImmediate);
static_assert(CudaDriver::success == CUDA_SUCCESS && CudaDriver::not_ready == CUDA_ERROR_NOT_READY);
static_assert(int{CudaDriver::context} == CU_POINTER_ATTRIBUTE_CONTEXT &&
              int{CudaDriver::memory_type} == CU_POINTER_ATTRIBUTE_MEMORY_TYPE &&
              int{CudaDriver::is_managed} == CU_POINTER_ATTRIBUTE_IS_MANAGED);
static_assert(CudaDriver::device_memory_type == CU_MEMORYTYPE_DEVICE &&
              CudaDriver::stream_non_blocking == CU_STREAM_NON_BLOCKING &&
              CudaDriver::event_without_timing == CU_EVENT_DISABLE_TIMING &&
              CudaDriver::capture_mode_relaxed == CU_STREAM_CAPTURE_MODE_RELAXED &&
              CudaDriver::capture_none == CU_STREAM_CAPTURE_STATUS_NONE);
static_assert(sizeof(CUuuid) == sizeof(CudaDriver::Uuid) &&
              sizeof(CUdeviceptr) == sizeof(CudaDriver::Address));

TEST(RealNccl, LoadsWithoutADriver) {
    Variable const named("SINEW_NCCL_LIBRARY", NCCL_FILE);
    nccl::Library const library = nccl::Library::find();
    EXPECT_EQ(library.version(), NCCL_VERSION_CODE);
    EXPECT_EQ(library.has_revoke(), NCCL_VERSION_CODE >= 22807);
    EXPECT_EQ(library.has_all_to_all(), NCCL_VERSION_CODE >= 22803);
    nccl::UniqueId one{}, other{};
    EXPECT_EQ(library.call().get_unique_id(&one), nccl::success);
    EXPECT_EQ(library.call().get_unique_id(&other), nccl::success);
    EXPECT_NE(std::memcmp(&one, &other, sizeof(one)), 0);
}

TEST(RealNccl, FailsCleanlyWithoutADriver) {
    try {
        CudaDriver::load();
        GTEST_SKIP() << "there is a driver";
    } catch (Unavailable const& why) {
        EXPECT_THAT(why.what(), HasSubstr("driver"));
    }
    Variable const named("SINEW_NCCL_LIBRARY", NCCL_FILE);
    nccl::Library const library = nccl::Library::find();
    nccl::UniqueId id{};
    ASSERT_EQ(library.call().get_unique_id(&id), nccl::success);
    nccl::Handle comm = nullptr;
    nccl::Config config;
    int const result = library.call().init_rank_config(&comm, 1, id, 0, &config);
    EXPECT_NE(result, nccl::success);
    EXPECT_THAT(library.words(result, nullptr), HasSubstr("CUDA driver"));
}

}  // namespace
}  // namespace sinew::tests
