// SPDX-License-Identifier: Apache-2.0
#include "src/pmpi/comm_route.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <stdexcept>

#include "src/pmpi/collective_call.hpp"
#include "src/pmpi/inside.hpp"
#include "src/pmpi/real.hpp"
#include "src/pmpi/requests/background_queue.hpp"
#include "src/pmpi/requests/posting_queue.hpp"

namespace sinew::pmpi {

namespace {

std::atomic<std::uint64_t> epoch{1};
int keyval = MPI_KEYVAL_INVALID;

/// The communicators that this thread has used last.
struct Known {
    MPI_Comm comm;
    std::uint64_t epoch;  // 0: empty
    CommRoute* route;
};
constexpr std::size_t known_communicators = 16;
thread_local constinit std::array<Known, known_communicators> known{};

Known& place_of(MPI_Comm comm) {
    std::uint64_t const key = key_of(comm);
    return known[(key ^ key >> 4 ^ key >> 9) % known_communicators];
}

int do_not_copy(MPI_Comm, int, void*, void*, void*, int* flag) {
    *flag = 0;
    return MPI_SUCCESS;
}
int on_delete(MPI_Comm, int, void* route, void*) {
    handle_freed();
    auto* const ending = static_cast<CommRoute*>(route);
    *ending->exists = false;
    // MPI_Finalize has been called while a thread executes a call: its memory must stay.
    bool const in_use =
        MpiJob::current() == nullptr && ending->background && ending->background->running();
    if (!in_use) delete ending;
    return MPI_SUCCESS;
}

/// The ranks in MPI_COMM_WORLD of the communicator's ranks; MPI_UNDEFINED: of another job.
std::vector<int> world_ranks_of(MPI_Comm comm, int size) {
    MPI_Group members{}, world{};
    real().Comm_group(comm, &members);
    real().Comm_group(MPI_COMM_WORLD, &world);
    std::vector<int> ranks(static_cast<std::size_t>(size)), theirs(ranks.size());
    std::iota(ranks.begin(), ranks.end(), 0);
    real().Group_translate_ranks(members, size, ranks.data(), world, theirs.data());
    real().Group_free(&members);
    real().Group_free(&world);
    return theirs;
}

/// Opens the room that the communicator's first rank makes, if it has memory for it. `broadcast` is
/// given its place, which that rank knows.
template <class Broadcast>
void share_room(CommRoute& route, node_memory::RingSize size, Broadcast const& broadcast) {
    node_memory::Arena& arena = *route.job->arena();
    node_memory::RoomPlace place;
    if (route.rank == 0) place = arena.make_room(route.size, size);
    broadcast(place);
    route.why_not = CallOutcome::no_room;
    if (place.offset == 0) return;
    route.room = arena.open_room(place, route.rank, route.size);
    route.room->share_processors(route.job->crowded());
    route.posted = std::make_unique<PostingQueue>(route);
}

/// Opens the room of a communicator. Collective, like everything that leads
/// here: each rank knows which ranks share memory, so they decide alike without a message.
void open_room(MPI_Comm comm, CommRoute& route) {
    MpiJob& job = *route.job;
    route.why_not = job.arena() ? CallOutcome::several_nodes : CallOutcome::no_memory;
    if (job.arena() == nullptr || route.size > job.local_size()) return;
    for (int const rank : world_ranks_of(comm, route.size)) {
        int const local = rank == MPI_UNDEFINED ? -1 : job.local_rank_of(rank);
        if (local < 0) return;
        route.local_ranks.push_back(local);
    }
    share_room(route, node_memory::RingSize::usual, [comm](node_memory::RoomPlace& place) {
        real().Bcast(&place, static_cast<int>(sizeof place), MPI_BYTE, 0, comm);
    });
    if (route.room) route.room->use_domains(job.domains_of(route.local_ranks).domains);
}

std::unique_ptr<CommRoute> make_route(MPI_Comm comm, MpiJob& job) {
    auto route = std::make_unique<CommRoute>();
    route->job = &job;
    real().Comm_rank(comm, &route->rank);
    real().Comm_size(comm, &route->size);
    int between_groups = 0;
    real().Comm_test_inter(comm, &between_groups);
    if (between_groups != 0) route->why_not = CallOutcome::inter;
    else if (route->size == 1) route->why_not = CallOutcome::alone;
    else open_room(comm, *route);
    return route;
}

}  // namespace

CommRoute::CommRoute() = default;
CommRoute::~CommRoute() = default;

void CommRoute::end_posted() const {
    if (posted && posted->pending()) posted->await_all();
}

BackgroundQueue& CommRoute::in_background() {
    if (!background) background = std::make_unique<BackgroundQueue>(*this);
    return *background;
}

void CommRoute::require_not_lost() const {
    if (lost) throw std::runtime_error("an earlier call on this communicator failed");
}

std::unique_ptr<CommRoute> make_own_route(CommRoute& of, CallOutcome& why_not) {
    auto route = std::make_unique<CommRoute>();
    route->job = of.job;
    route->rank = of.rank;
    route->size = of.size;
    route->local_ranks = of.local_ranks;
    route->exists = of.exists;
    share_room(*route, node_memory::RingSize::least, [&of](node_memory::RoomPlace& place) {
        CollectiveCall call{.route = of, .comm = MPI_COMM_NULL};
        call.args.out = reinterpret_cast<std::byte*>(&place);
        call.args.count = sizeof place;
        call.run(collectives::node::broadcast);
    });
    why_not = route->why_not;
    if (route->room == nullptr) return nullptr;
    return route;
}

std::uint64_t handle_epoch() { return epoch.load(std::memory_order_acquire); }
void handle_freed() { epoch.fetch_add(1, std::memory_order_acq_rel); }

void prepare_routes() { real().Comm_create_keyval(do_not_copy, on_delete, &keyval, nullptr); }

namespace {

CommRoute* find_route(MPI_Comm comm, CallOutcome& why_not, bool may_make) {
    Known& place = place_of(comm);
    std::uint64_t const now = handle_epoch();
    CommRoute* route = nullptr;
    if (place.comm == comm && place.epoch == now && !inside) [[likely]] {
        route = place.route;
    } else {
        MpiJob* const job = MpiJob::current();
        why_not = inside           ? CallOutcome::nested
                  : job == nullptr ? CallOutcome::off
                                   : CallOutcome::arguments;
        if (inside || job == nullptr || comm == MPI_COMM_NULL) return nullptr;
        why_not = CallOutcome::off;
        if (job->settings().off || !job->settings().node_memory) return nullptr;
        InsideGuard const guard;
        int found = 0;
        real().Comm_get_attr(comm, keyval, static_cast<void*>(&route), &found);
        if (found == 0) {
            why_not = CallOutcome::early;
            if (!may_make) return nullptr;
            route = make_route(comm, *job).release();
            real().Comm_set_attr(comm, keyval, route);
        }
        place = {comm, now, route};
    }
    if (route->room && MpiJob::current() != nullptr) [[likely]]
        return route;
    why_not = route->room ? CallOutcome::off : route->why_not;
    return nullptr;
}

}  // namespace

CommRoute* find_route(MPI_Comm comm, CallOutcome& why_not) {
    return find_route(comm, why_not, true);
}
CommRoute* find_made_route(MPI_Comm comm, CallOutcome& why_not) {
    return find_route(comm, why_not, false);
}

}  // namespace sinew::pmpi
