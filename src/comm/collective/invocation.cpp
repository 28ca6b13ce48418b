// SPDX-License-Identifier: Apache-2.0
#include "src/comm/collective/invocation.hpp"

#include <numeric>

#include "src/base/text.hpp"

namespace sinew::detail {

std::string Invocation::text() const {
    std::string what = sinew::text(name(collective), '(');
    if (collective != Collective::barrier)
        what += sinew::text(in.type.name(), " x ",
                            in.data != nullptr || in.count > 0 ? in.count : out.count);
    if (reduces()) what += ", " + op.name();
    if (has_root()) what += sinew::text(", root ", root);
    return what + ')';
}

namespace {

std::span<std::size_t const> own(std::vector<std::size_t>& copy,
                                 std::span<std::size_t const> from) {
    copy.assign(from.begin(), from.end());
    return copy;
}

/// FNV-1a.
std::uint64_t hash(void const* data, std::size_t bytes, std::uint64_t seed = 0xcbf29ce484222325u) {
    auto const* const p = static_cast<unsigned char const*>(data);
    for (std::size_t i = 0; i < bytes; ++i) seed = (seed ^ p[i]) * 0x100000001b3u;
    return seed;
}

/// Returns the element count on which all ranks must agree; 0 if they may differ.
std::uint64_t common_count(Invocation const& call, int rank, int size) {
    bool const whole_in_place = call.in_place && (rank == call.root || !call.has_root());
    std::size_t const part_of_whole = call.out.count / static_cast<std::size_t>(size);
    switch (call.collective) {
        case Collective::allgather:
        case Collective::gather:
            return whole_in_place ? part_of_whole : call.in.count;
        case Collective::scatter:
            return whole_in_place ? part_of_whole : call.out.count;
        case Collective::gatherv:
        case Collective::scatterv:
        case Collective::alltoallv:
        case Collective::barrier:
            return 0;
        // A buffer may be larger than its parts, depending on the rank's offsets.
        case Collective::reduce_scatter:
        case Collective::allgatherv:
            return std::accumulate(call.parts.counts.begin(), call.parts.counts.end(),
                                   std::uint64_t{0});
        // The input has the same count on all ranks, whatever part of the result a rank keeps.
        default:
            return call.in.count;
    }
}

/// For gather and reduce `out` is used on the root only, for scatter `in`.
DataType common_type(Invocation const& call) {
    bool const scatters =
        call.collective == Collective::scatter || call.collective == Collective::scatterv;
    return scatters ? call.out.type : call.in.type;
}

}  // namespace

bool uses_in(Invocation const& call, int rank) {
    bool const scatters =
        call.collective == Collective::scatter || call.collective == Collective::scatterv;
    return call.collective != Collective::barrier && (!scatters || rank == call.root);
}

bool uses_out(Invocation const& call, int rank) {
    switch (call.collective) {
        case Collective::barrier:
            return false;
        case Collective::reduce:
        case Collective::gather:
        case Collective::gatherv:
            return rank == call.root;
        default:
            return true;
    }
}

OperationRecord record_of(Invocation const& call, int rank, int size) {
    OperationRecord record;
    record.collective = call.collective;
    if (call.collective != Collective::barrier) record.type = common_type(call).kind();
    record.count = common_count(call, rank, size);
    if (call.has_root()) record.root = call.root;
    if (call.reduces()) record.op = static_cast<std::uint8_t>(call.op.kind());
    record.device = call.device != nullptr;
    return record;
}

OwnedInvocation::OwnedInvocation(Invocation const& from)
    : call(from), algorithm_(from.options.algorithm) {
    call.parts = {own(counts_, from.parts.counts), own(offsets_, from.parts.offsets)};
    call.sent = {own(sent_counts_, from.sent.counts), own(sent_offsets_, from.sent.offsets)};
    call.options.algorithm = algorithm_;
}

Fingerprint Fingerprint::of(Invocation const& call, std::uint64_t sequence, int rank, int size) {
    Fingerprint print;
    print.sequence = sequence;
    print.collective = static_cast<std::uint8_t>(call.collective);
    if (call.collective != Collective::barrier) {
        DataType const data_type = common_type(call);
        print.type = static_cast<std::uint8_t>(data_type.kind());
        print.type_size = static_cast<std::uint32_t>(data_type.size());
    }
    print.count = common_count(call, rank, size);
    if (call.collective == Collective::allgatherv || call.collective == Collective::reduce_scatter)
        print.parts = hash(call.parts.counts.data(), call.parts.counts.size_bytes());
    print.root = call.has_root() ? call.root : -1;
    print.op = call.reduces() ? static_cast<std::uint8_t>(call.op.kind()) : 0xff;
    if (call.reduces() && call.op.kind() == ReduceOp::Kind::user) {
        std::string const op_name = call.op.name();
        print.op_name_hash = hash(op_name.data(), op_name.size());
        op_name.copy(print.op_name.data(), print.op_name.size() - 1);
    }
    print.factor = call.factor;
    print.device = call.device ? 1 : 0;
    print.algorithm = hash(call.options.algorithm.data(), call.options.algorithm.size());
    return print;
}

std::string Fingerprint::text() const {
    auto const kind = static_cast<Collective>(collective);
    std::string what = sinew::text(name(kind), '(');
    if (kind != Collective::barrier) {
        auto const type_kind = static_cast<DataType::Kind>(type);
        DataType const data_type =
            type_kind == DataType::Kind::opaque ? DataType::opaque(type_size) : DataType(type_kind);
        what += data_type.name();
        if (count > 0) what += sinew::text(" x ", count);
        if (parts != 0) what += sinew::text(", counts with hash ", std::hex, parts, std::dec);
        if (device != 0) what += " on a GPU";
    }
    if (op_name[0] != '\0') what += sinew::text(", ", op_name.data());
    else if (op != 0xff) what += ", " + ReduceOp(static_cast<ReduceOp::Kind>(op)).name();
    if (root >= 0) what += sinew::text(", root ", root);
    return what + ')';
}

}  // namespace sinew::detail
