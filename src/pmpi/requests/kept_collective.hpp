// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "src/pmpi/calls/non_blocking_call.hpp"
#include "src/pmpi/collective_call.hpp"

namespace sinew::pmpi {

/// Duplicates of types of the program, which it may free while a collective needs them. Made and destroyed
/// by threads that may call MPI.
class KeptTypes {
public:
    KeptTypes() = default;
    KeptTypes(KeptTypes const&) = delete;
    KeptTypes& operator=(KeptTypes const&) = delete;
    ~KeptTypes();
    /// Replaces a type by its duplicate unless it is predefined.
    void keep(MPI_Datatype& type);

private:
    std::vector<MPI_Datatype> duplicates_;
};

/// The arguments of a collective, for calls after the function that received them has returned. Buffers
/// and lists of counts are the program's: MPI requires that they stay.
class KeptCollective {
public:
    KeptCollective() = default;
    KeptCollective(KeptCollective const&) = delete;
    KeptCollective& operator=(KeptCollective const&) = delete;
    virtual ~KeptCollective() = default;
    virtual CallOutcome post(NonBlockingCall& call) const = 0;
    virtual CallOutcome run(CollectiveCall& call) const = 0;
};

/// `Call`: a class in calls/.
template <class Call>
class KeptArguments final : public KeptCollective {
public:
    KeptArguments(Call const& call, int rank) : call_(call) {
        call_.each_type(rank, [this](MPI_Datatype& type) { types_.keep(type); });
    }
    CallOutcome post(NonBlockingCall& call) const override {
        call.types_are_kept();
        return call_.post(call);
    }
    CallOutcome run(CollectiveCall& call) const override { return call_.run(call); }

private:
    Call call_;
    KeptTypes types_;
};

}  // namespace sinew::pmpi
