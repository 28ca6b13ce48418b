// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include <sinew/communicator.hpp>
#include <sinew/error.hpp>

#include "src/comm/black_box/operation_record.hpp"

namespace sinew::detail {

struct DeviceSide;

/// One call of a collective operation with the caller's arguments. In place both buffers are equal.
struct Invocation {
    Collective collective = Collective::barrier;
    ConstBuffer in{nullptr, 0, DataType::Kind::u8};
    Buffer out{nullptr, 0, DataType::Kind::u8};
    bool in_place = false;
    ReduceOp op = sum;
    double factor =
        1;  ///< of `sum` in host memory: what the results are multiplied by, on all ranks alike
    int root = 0;
    Parts parts =
        Parts(std::span<std::size_t const>{});  ///< parts of the long buffer; alltoallv: of `out`
    Parts sent = Parts(std::span<std::size_t const>{});  ///< alltoallv: parts of `in`
    CallOptions options = {};
    std::shared_ptr<DeviceSide const> device = nullptr;  ///< null: the buffers are in host memory

    bool reduces() const { return is_reduction(collective); }
    bool has_root() const { return is_rooted(collective); }
    bool has_parts() const { return has_uneven_parts(collective); }
    /// Returns text for error messages: "broadcast(f32 x 10, root 3)".
    std::string text() const;
};

/// An invocation that owns its arrays, for calls that outlive the caller's statement.
struct OwnedInvocation {
    explicit OwnedInvocation(Invocation const& call);
    OwnedInvocation(OwnedInvocation const&) = delete;
    Invocation call;

private:
    std::vector<std::size_t> counts_, offsets_, sent_counts_, sent_offsets_;
    std::string algorithm_;
};

/// The error of a call that is wrong by itself, whatever the other ranks do.
class Refusal : public UsageError {
public:
    Refusal(std::string const& what, bool only_here) : UsageError(what), only_here_(only_here) {}
    /// Returns whether possibly only this rank has found the error, in data that is not common to
    /// all: addresses, buffer sizes, arguments that count on the root only. Otherwise it follows
    /// from arguments that must be equal on all ranks.
    bool only_here() const { return only_here_; }

private:
    bool only_here_;
};

/// Whether this rank's `in` (`out`) is used: scatter reads the root's alone, for example.
bool uses_in(Invocation const& call, int rank);
bool uses_out(Invocation const& call, int rank);

/// Throws Refusal naming the invalid value.
void check_arguments(Invocation const& call, int rank, int size, std::string const& host);

/// What the black box keeps of a call.
OperationRecord record_of(Invocation const& call, int rank, int size);

/// The properties of a call that must be equal on all ranks. The ranks exchange its bytes.
struct Fingerprint {
    std::uint64_t sequence = 0;
    std::uint64_t count = 0;  ///< elements, where all ranks must agree
    std::uint64_t parts = 0;  ///< hash of counts that all ranks must agree on
    std::uint64_t algorithm = 0;
    std::uint64_t op_name_hash = 0;  ///< user-defined operations only
    double factor = 1;
    std::uint32_t type_size = 0;
    std::int32_t root = 0;
    std::uint8_t collective = 0;
    std::uint8_t type = 0;
    std::uint8_t op = 0;
    std::uint8_t refused = 0;  ///< 1: the rank has refused its call
    std::uint8_t device = 0;   ///< 1: the buffers are in the memory of a GPU
    std::uint8_t reserved[3] = {};
    std::array<char, 24> op_name = {};  ///< first characters of the name, for errors

    static Fingerprint of(Invocation const& call, std::uint64_t sequence, int rank, int size);
    friend bool operator==(Fingerprint const&, Fingerprint const&) = default;
    std::string text() const;
};

}  // namespace sinew::detail
