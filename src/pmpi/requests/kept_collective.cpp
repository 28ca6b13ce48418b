// SPDX-License-Identifier: Apache-2.0
#include "src/pmpi/requests/kept_collective.hpp"

#include "src/pmpi/real.hpp"

namespace sinew::pmpi {

void KeptTypes::keep(MPI_Datatype& type) {
    int integers = 0, addresses = 0, types = 0, combiner = 0;
    real().Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    if (combiner == MPI_COMBINER_NAMED) return;
    MPI_Datatype duplicate = MPI_DATATYPE_NULL;
    real().Type_dup(type, &duplicate);
    type = duplicate;
    duplicates_.push_back(duplicate);
}

KeptTypes::~KeptTypes() {
    for (MPI_Datatype& type : duplicates_) real().Type_free(&type);
}

}  // namespace sinew::pmpi
