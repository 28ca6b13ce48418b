// SPDX-License-Identifier: Apache-2.0
#include "src/pmpi/types.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "src/pmpi/comm_route.hpp"
#include "src/pmpi/real.hpp"

namespace sinew::pmpi {

namespace {

int keyval = MPI_KEYVAL_INVALID;

struct Known {
    MPI_Datatype type;
    std::uint64_t epoch;  // 0: empty
    TypeLayout layout;
};
constexpr std::size_t known_types = 16;
thread_local constinit std::array<Known, known_types> known{};

int do_not_copy(MPI_Datatype, int, void*, void*, void*, int* flag) {
    *flag = 0;
    return MPI_SUCCESS;
}
int on_delete(MPI_Datatype, int, void* layout, void*) {
    handle_freed();
    delete static_cast<TypeLayout*>(layout);
    return MPI_SUCCESS;
}

/// How a type was made.
struct Contents {
    explicit Contents(MPI_Datatype type) {
        int n_integers = 0, n_addresses = 0, n_types = 0;
        real().Type_get_envelope(type, &n_integers, &n_addresses, &n_types, &combiner);
        if (n_types == 0) return;
        integers.resize(static_cast<std::size_t>(n_integers));
        addresses.resize(static_cast<std::size_t>(n_addresses));
        types.resize(static_cast<std::size_t>(n_types));
        real().Type_get_contents(type, n_integers, n_addresses, n_types, integers.data(),
                                 addresses.data(), types.data());
    }
    Contents(Contents const&) = delete;
    Contents& operator=(Contents const&) = delete;
    ~Contents() {
        for (MPI_Datatype type : types) {
            int integers_ = 0, addresses_ = 0, types_ = 0, how = 0;
            real().Type_get_envelope(type, &integers_, &addresses_, &types_, &how);
            if (types_ > 0) real().Type_free(&type);  // the others are predefined
        }
    }

    int combiner = MPI_COMBINER_NAMED;
    std::vector<int> integers;
    std::vector<MPI_Aint> addresses;
    std::vector<MPI_Datatype> types;
};

TypeLayout examine(MPI_Datatype type);

/// Whether the blocks of a struct follow each other without gaps, in order.
bool is_flat_struct(Contents const& made) {
    MPI_Aint position = 0;
    for (std::size_t i = 0; i < made.types.size(); ++i) {
        TypeLayout const part = examine(made.types[i]);
        int const count = made.integers[i + 1];
        if (count == 0) continue;
        if (!part.flat || made.addresses[i] != position) return false;
        position += static_cast<MPI_Aint>(part.size) * count;
    }
    return true;
}

/// Whether the data of a gapless type lie in the order in which they are sent. If in doubt: no.
bool is_in_order(MPI_Datatype type) {
    Contents const made(type);
    if (made.types.empty()) return true;  // predefined
    switch (made.combiner) {
        case MPI_COMBINER_DUP:
        case MPI_COMBINER_CONTIGUOUS:
        case MPI_COMBINER_RESIZED:
            return examine(made.types[0]).flat;
        case MPI_COMBINER_VECTOR:  // count, length of a block, stride
            return examine(made.types[0]).flat &&
                   (made.integers[0] <= 1 || made.integers[1] == made.integers[2]);
        case MPI_COMBINER_STRUCT:
            return is_flat_struct(made);
        default:
            return false;
    }
}

TypeLayout examine(MPI_Datatype type) {
    MPI_Count size = 0;
    MPI_Aint low = 0, extent = 0, true_low = 0, true_extent = 0;
    real().Type_size_x(type, &size);
    real().Type_get_extent(type, &low, &extent);
    real().Type_get_true_extent(type, &true_low, &true_extent);
    TypeLayout layout{.size = static_cast<std::size_t>(size), .extent = extent, .first = true_low};
    layout.gapless = low == 0 && true_low == 0 && extent == size && true_extent == size;
    layout.flat = layout.gapless && is_in_order(type);
    return layout;
}

/// As an attribute of the type, which MPI deletes with it.
TypeLayout attached(MPI_Datatype type) {
    // Of two threads that meet a type, one examines it.
    static std::mutex& mutex = *new std::mutex;
    std::lock_guard const lock(mutex);
    TypeLayout* layout = nullptr;
    int found = 0;
    real().Type_get_attr(type, keyval, static_cast<void*>(&layout), &found);
    if (found != 0) return *layout;
    auto fresh = std::make_unique<TypeLayout>(examine(type));
    TypeLayout const copy = *fresh;
    real().Type_set_attr(type, keyval, fresh.release());
    return copy;
}

}  // namespace

void prepare_types() { real().Type_create_keyval(do_not_copy, on_delete, &keyval, nullptr); }

TypeLayout layout_of(MPI_Datatype type) {
    std::uint64_t const key = key_of(type), now = handle_epoch();
    Known& place = known[(key ^ key >> 4 ^ key >> 8) % known_types];
    if (place.type == type && place.epoch == now) [[likely]]
        return place.layout;
    place = {type, now, attached(type)};
    return place.layout;
}

}  // namespace sinew::pmpi
