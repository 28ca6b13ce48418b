// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/peers/openmpi_peer.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <sinew/error.hpp>
#include <sinew/mpi.hpp>

#include "benchmarks/peers/mpi_call.hpp"
#include "benchmarks/peers/mpi_peer.hpp"
#include "benchmarks/support/text.hpp"

namespace sinew::bench {

namespace {

constexpr char const* dynamic_rules = "OMPI_MCA_coll_tuned_use_dynamic_rules";

struct Component {
    std::string_view name;
    /// Those it serves; Open MPI takes its usual component for all others.
    std::vector<Collective> serves;
    bool on_one_node, across_nodes;
};

std::vector<Component> const& components() {
    using enum Collective;
    static std::vector<Component> const all{
        {"sm", {allreduce, barrier, broadcast, reduce}, true, false},
        {"adapt", {broadcast, reduce}, true, true},
        {"han", {allgather, allreduce, broadcast, gather, reduce, scatter}, false, true},
        {"xhc", {allreduce, barrier, broadcast, reduce}, true, false},
        {"acoll", {allgather, allreduce, alltoall, barrier, broadcast, gather, reduce}, true, true},
    };
    return all;
}

/// What coll/tuned calls the collective; null if it does not have it.
char const* tuned_name(Collective collective) {
    switch (collective) {
        case Collective::allreduce:
            return "allreduce";
        case Collective::reduce_scatter:
            return "reduce_scatter";
        case Collective::reduce_scatter_block:
            return "reduce_scatter_block";
        case Collective::allgather:
            return "allgather";
        case Collective::allgatherv:
            return "allgatherv";
        case Collective::broadcast:
            return "bcast";
        case Collective::reduce:
            return "reduce";
        case Collective::gather:
            return "gather";
        case Collective::scatter:
            return "scatter";
        case Collective::alltoall:
            return "alltoall";
        case Collective::alltoallv:
            return "alltoallv";
        case Collective::scan:
            return "scan";
        case Collective::exscan:
            return "exscan";
        case Collective::barrier:
            return "barrier";
        default:
            return nullptr;
    }
}

void require_openmpi(char const* peer) {
    if (std::string(SINEW_MPI_VENDOR) != "openmpi")
        throw Unavailable(text("--peer ", peer, " (this program is built with ", mpi_version(),
                               "). Build with -DSINEW_MPI=openmpi, or leave the flag out"));
}

/// MPI's interface for tools, in which Open MPI's parameters are control variables.
class ToolInterface {
public:
    ToolInterface() {
        int provided = 0;
        check_mpi(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    }
    ToolInterface(ToolInterface const&) = delete;
    ToolInterface& operator=(ToolInterface const&) = delete;
    ~ToolInterface() { MPI_T_finalize(); }

    static bool has(std::string const& variable) {
        int index = 0;
        return MPI_T_cvar_get_index(variable.c_str(), &index) == MPI_SUCCESS;
    }

    /// The values of a variable that has names for them, by name.
    static std::vector<std::pair<std::string, int>> values(std::string const& variable) {
        int index = 0;
        if (MPI_T_cvar_get_index(variable.c_str(), &index) != MPI_SUCCESS) return {};
        std::array<char, 256> name{}, words{};
        int name_length = name.size(), words_length = words.size();
        int verbosity = 0, binding = 0, scope = 0, count = 0;
        MPI_Datatype type = MPI_DATATYPE_NULL;
        MPI_T_enum names = MPI_T_ENUM_NULL;
        check_mpi(MPI_T_cvar_get_info(index, name.data(), &name_length, &verbosity, &type, &names,
                                      words.data(), &words_length, &binding, &scope));
        if (names == MPI_T_ENUM_NULL) return {};
        name_length = name.size();
        check_mpi(MPI_T_enum_get_info(names, &count, name.data(), &name_length));
        std::vector<std::pair<std::string, int>> found;
        for (int i = 0; i < count; ++i) {
            int value = 0, length = name.size();
            check_mpi(MPI_T_enum_get_item(names, i, &value, name.data(), &length));
            found.emplace_back(name.data(), value);
        }
        return found;
    }

    static void set(std::string const& variable, int value) {
        int index = 0, count = 0;
        check_mpi(MPI_T_cvar_get_index(variable.c_str(), &index));
        MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
        check_mpi(MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count));
        int const code = MPI_T_cvar_write(handle, &value);
        MPI_T_cvar_handle_free(&handle);
        check_mpi(code);
    }
};

// The duplicates are not freed: that is collective, and this rank may be the only one that fails.
// MPI_Finalize frees them.
class ForcedAlgorithms final : public Peer {
public:
    explicit ForcedAlgorithms(Communicator& comm) : comm_(mpi::to_mpi(comm)), ranks_(comm.size()) {}

    std::vector<PeerCall> bind(Workload const& load) override {
        Collective const collective = load.problem().collective;
        auto found = made_.find(collective);
        if (found == made_.end()) found = made_.emplace(collective, make(collective)).first;
        std::vector<PeerCall> calls;
        for (auto const& [name, comm] : found->second)
            if (auto call = bind_mpi(comm, load)) calls.push_back({name, std::move(call)});
        return calls;
    }

private:
    struct Forced {
        std::string name;
        MPI_Comm comm;
    };

    // coll/tuned reads its parameters when a communicator is made.
    std::vector<Forced> make(Collective collective) const {
        char const* const word = tuned_name(collective);
        if (word == nullptr) return {};
        std::string const variable = text("coll_tuned_", word, "_algorithm");
        std::vector<Forced> all;
        for (auto const& [name, value] : ToolInterface::values(variable)) {
            if (value == 0) continue;  // none is forced
            if (name.starts_with("two_proc") && ranks_ != 2) continue;
            Forced forced{"openmpi:" + name, MPI_COMM_NULL};
            ToolInterface::set(variable, value);
            int const code = PMPI_Comm_dup(comm_, &forced.comm);
            ToolInterface::set(variable, 0);
            check_mpi(code);
            all.push_back(forced);
        }
        return all;
    }

    ToolInterface tools_;
    MPI_Comm comm_;
    int ranks_;
    std::map<Collective, std::vector<Forced>> made_;
};

class Components final : public Peer {
public:
    Components(Communicator& comm, PeerNote const& note) {
        bool const one_node = comm.nodes().nodes() == 1;
        for (Component const& component : components()) {
            std::string const name = text("openmpi:", component.name);
            if (!ToolInterface::has(text("coll_", component.name, "_priority")))
                note(text("peer ", name, " left out (", mpi_version(), " has no such component)"));
            else if (one_node ? !component.on_one_node : !component.across_nodes)
                note(text("peer ", name, " left out (it serves ranks of ",
                          one_node ? "several nodes" : "one node", " only)"));
            else preferring_.push_back({&component, name, preferring(comm, component.name)});
        }
    }

    std::vector<PeerCall> bind(Workload const& load) override {
        std::vector<PeerCall> calls;
        for (auto const& [component, name, comm] : preferring_) {
            auto const& serves = component->serves;
            if (std::find(serves.begin(), serves.end(), load.problem().collective) == serves.end())
                continue;
            if (auto call = bind_mpi(comm, load)) calls.push_back({name, std::move(call)});
        }
        return calls;
    }

private:
    struct Preferring {
        Component const* component;
        std::string name;
        MPI_Comm comm;
    };

    static MPI_Comm preferring(Communicator& comm, std::string_view component) {
        MPI_Info hints = MPI_INFO_NULL;
        check_mpi(PMPI_Info_create(&hints));
        check_mpi(
            PMPI_Info_set(hints, "ompi_comm_coll_preference", std::string(component).c_str()));
        MPI_Comm result = MPI_COMM_NULL;
        int const code = PMPI_Comm_dup_with_info(mpi::to_mpi(comm), hints, &result);
        PMPI_Info_free(&hints);
        check_mpi(code);
        return result;
    }

    ToolInterface tools_;
    std::vector<Preferring> preferring_;
};

}  // namespace

// A component whose priority is 0 is not asked; with 1 it is, and stays below the usual ones (10 and
// 30). With dynamic rules coll/tuned reads which algorithm is forced, which is none by default.
void prepare_openmpi(std::vector<std::string> const& peers) {
    auto const wanted = [&](char const* peer) {
        return std::find(peers.begin(), peers.end(), peer) != peers.end();
    };
    if (wanted(openmpi_forced)) ::setenv(dynamic_rules, "1", 0);
    if (!wanted(openmpi_components)) return;
    for (Component const& component : components())
        ::setenv(text("OMPI_MCA_coll_", component.name, "_priority").c_str(), "1", 0);
}

std::unique_ptr<Peer> make_openmpi_forced(Communicator& comm, PeerNote const&) {
    require_openmpi(openmpi_forced);
    char const* const rules = std::getenv(dynamic_rules);
    if (rules == nullptr || std::string(rules) == "0")
        throw Unavailable(text("--peer ", openmpi_forced, " (", dynamic_rules,
                               " was not set when Open MPI was initialized). Unset it"));
    return std::make_unique<ForcedAlgorithms>(comm);
}

std::unique_ptr<Peer> make_openmpi_components(Communicator& comm, PeerNote const& note) {
    require_openmpi(openmpi_components);
    return std::make_unique<Components>(comm, note);
}

}  // namespace sinew::bench
