// SPDX-License-Identifier: Apache-2.0
#include "launchers/pmi/pmix_server.hpp"

#include <sys/stat.h>
#include <unistd.h>
#include <sinew/error.hpp>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>

#include "launchers/pmi/pmix_info.hpp"
#include "launchers/pmi/pmix_life.hpp"
#include "launchers/pmi/pmix_upcalls.hpp"
#include "src/base/log.hpp"
#include "src/base/system/io.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

void make_private_folder(std::string const& path) {
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
        throw_errno(text("folder ", path, " cannot be created"),
                    "Set SINEW_TMPDIR to a folder with free space");
}

pmix_proc_t process(std::string const& job, int rank) {
    pmix_proc_t found{};
    std::strncpy(found.nspace, job.c_str(), PMIX_MAX_NSLEN);
    found.rank = static_cast<pmix_rank_t>(rank);
    return found;
}

class LibraryServer final : public PmixServer {
public:
    LibraryServer(Options const& options, Upcalls upcalls);
    ~LibraryServer() override;
    void register_job(PmixJob const& job) override;
    std::vector<std::string> environment(int rank) override;
    void modex_request(int rank, Reply reply) override;
    void deregister_job() override;

private:
    PmixLibrary const& library() const { return *state_->library; }
    PmixPacked packed(decltype(&::PMIx_generate_regex) pack, std::string const& list) const;
    std::string locality(std::string const& cpuset) const;
    void register_clients();

    Options options_;
    std::shared_ptr<PmixUpcallState> state_ = std::make_shared<PmixUpcallState>();
    PmixJob job_;
    std::set<int> local_ranks_;
    std::atomic<std::size_t> finalized_{0};  ///< of local_ranks_; counted on the library's thread
    bool registered_ = false;
};

LibraryServer::LibraryServer(Options const& options, Upcalls upcalls) : options_(options) {
    state_->upcalls = std::move(upcalls);
    state_->upcalls.finalized = [this, tell = state_->upcalls.finalized](int rank) {
        ++finalized_;
        tell(rank);
    };
    state_->library = running_pmix(options_.node_name, options_.folder, options_.security);
    if (!serve_pmix_upcalls(state_))
        throw UsageError(text("a second PMIx server on ", options_.node_name,
                              " (there is one in this process). End that one first"));
}

LibraryServer::~LibraryServer() {
    try {
        deregister_job();
    } catch (std::exception const& error) {
        log_warning(error.what());
    }
    end_pmix_upcalls(*state_);
}

PmixPacked LibraryServer::packed(decltype(&::PMIx_generate_regex) pack,
                                 std::string const& list) const {
    char* words = nullptr;
    library().check(pack(list.c_str(), &words), "packing of a list of nodes or ranks");
    pmix_value_t value{};  // only the library knows the length of `words`
    auto const status = library().load_value(&value, words, PMIX_REGEX);
    PmixPacked found;
    if (status == PMIX_SUCCESS) found.bytes.assign(value.data.bo.bytes, value.data.bo.size);
    library().destruct_value(&value);
    std::free(words);
    library().check(status, "copying of a packed list");
    return found;
}

// The caches and packages that a rank shares with others; empty if it is not bound.
std::string LibraryServer::locality(std::string const& cpuset) const {
    if (cpuset.empty()) return {};
    pmix_cpuset_t parsed{};
    char* words = nullptr;
    if (library().parse_cpuset(("hwloc:" + cpuset).c_str(), &parsed) != PMIX_SUCCESS) return {};
    auto const status = library().locality_string(&parsed, &words);
    std::string found = status == PMIX_SUCCESS && words != nullptr ? words : "";
    std::free(words);
    library().destruct_cpuset(&parsed);
    return found;
}

void LibraryServer::register_job(PmixJob const& job) {
    check_job(job);
    if (registered_)
        throw UsageError(text("job ", job.name, " cannot be registered (", job_.name,
                              " still is). Deregister that one first"));
    if (job.nodes[job.node] != options_.node_name)
        throw UsageError(text("job ", job.name, " calls this node ", job.nodes[job.node],
                              " (its PMIx server is ", options_.node_name, ")"));
    job_ = job;
    make_private_folder(job.folder + "/ompi");
    make_private_folder(session_folder(job));
    PmixDerived derived;
    // The library's raw format is the list itself, with its terminating zero.
    derived.nodes = packs_well(job) ? packed(library().generate_regex, node_list(job))
                                    : PmixPacked{"raw:" + node_list(job) + '\0'};
    derived.ranks = packed(library().generate_ppn, rank_list(job));
    for (auto const& cpuset : job.cpuset_of_local_rank)
        derived.localities.push_back(locality(cpuset));
    auto const ranks = ranks_on_node(job, job.node);
    local_ranks_ = {ranks.begin(), ranks.end()};
    auto const infos = std::make_shared<PmixInfos>(job_info(job, derived));
    library().wait_for("PMIx_server_register_nspace", infos, [&](auto callback, void* data) {
        return library().register_nspace(job_.name.c_str(), static_cast<int>(ranks.size()),
                                         infos->data(), infos->size(), callback, data);
    });
    registered_ = true;
    finalized_ = 0;
    register_clients();
}

void LibraryServer::register_clients() {
    for (int const rank : local_ranks_) {
        auto const who = process(job_.name, rank);
        library().wait_for(text("PMIx_server_register_client of rank ", rank), nullptr,
                           [&](auto callback, void* data) {
                               return library().register_client(&who, ::geteuid(), ::getegid(),
                                                                nullptr, callback, data);
                           });
    }
}

std::vector<std::string> LibraryServer::environment(int rank) {
    if (!registered_ || !local_ranks_.contains(rank))
        throw UsageError(text("rank ", rank, " has no PMIx variables on ", options_.node_name,
                              " (it is not a rank of a registered job here)"));
    auto const who = process(job_.name, rank);
    char** words = nullptr;
    library().check(library().setup_fork(&who, &words),
                    text("PMIx_server_setup_fork of rank ", rank));
    std::vector<std::string> found;
    for (char** word = words; word != nullptr && *word != nullptr; ++word) {
        found.emplace_back(*word);
        std::free(*word);
    }
    std::free(words);
    return found;
}

void LibraryServer::modex_request(int rank, Reply reply) {
    auto const status = registered_
                            ? request_modex(state_->library, process(job_.name, rank), reply)
                            : PMIX_ERR_NOT_FOUND;
    if (status != PMIX_SUCCESS) reply(false, {});
}

void LibraryServer::deregister_job() {
    if (!registered_) return;
    registered_ = false;
    // Only after an orderly end, see pmix_client_vanished. Otherwise the library keeps the job's
    // data, which is small, and few jobs follow on the same agent.
    if (finalized_ < local_ranks_.size()) {
        pmix_client_vanished();
    } else {
        library().wait_for("PMIx_server_deregister_nspace", nullptr,
                           [this](auto callback, void* data) {
                               library().deregister_nspace(job_.name.c_str(), callback, data);
                               return PMIX_SUCCESS;
                           });
    }
    std::error_code ignored;  // the folder's owner removes what is left
    std::filesystem::remove_all(session_folder(job_), ignored);
}

}  // namespace

void PmixServer::prepare_environment(Options const& options) {
    prepare_pmix_environment(options.security);
}

void PmixServer::prepare(Options const& options) {
    running_pmix(options.node_name, options.folder, options.security);
}

std::unique_ptr<PmixServer> PmixServer::start(Options const& options, Upcalls upcalls) {
    return std::make_unique<LibraryServer>(options, std::move(upcalls));
}

void PmixServer::end_library() { end_pmix(); }

std::string PmixServer::describe(bool& usable) {
    usable = false;
    try {
        std::string const version = PmixLibrary::load()->version();
        usable = true;
        return version;
    } catch (Unavailable const& error) {
        return error.what();
    }
}

}  // namespace sinew::launch
