// SPDX-License-Identifier: Apache-2.0
#pragma once

// What tests call of the fake NCCL, besides NCCL's own functions.
extern "C" {

/// Something that goes wrong on a rank of this process.
struct FakeNcclFault {
    enum Kind : int {
        none,
        init_hangs,       ///< the initialisation goes on until it is aborted
        init_fails,       ///< it ends with a system error
        init_is_late,     ///< it begins after `milliseconds`
        init_blocks,      ///< the call that starts it returns after `milliseconds`
        hangs,            ///< the operation runs on the device until it is aborted
        is_late,          ///< it begins on the device after `milliseconds`
        is_refused,       ///< its call returns an internal error
        fails_later,      ///< it is issued, then NCCL reports a remote error asynchronously
        counts_wrong,     ///< it has one element more than the caller wants
        is_not_launched,  ///< NCCL stays "in progress"
        kills,            ///< the process dies
        blocks,           ///< the call of the operation returns after `milliseconds`
    };
    Kind kind;
    int call;  ///< the number of the operation on the communicator, from 1
    int milliseconds;
    int end_blocks_ms;  ///< revoke, abort and destroy take so long
};

/// Sets the fault of a rank for communicators that are made from now on.
void fake_nccl_fault(int rank, FakeNcclFault fault);
/// How many communicators exist in this process.
int fake_nccl_alive();
/// How many have been revoked (aborted) so far.
int fake_nccl_revoked();
int fake_nccl_aborted();
/// The version that NCCL reports from now on.
void fake_nccl_version(int version);
}
