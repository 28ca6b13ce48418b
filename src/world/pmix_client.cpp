// SPDX-License-Identifier: Apache-2.0
#include "src/world/pmix_client.hpp"

#include <dlfcn.h>
#include <pmix.h>

#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>

#include <sinew/error.hpp>

#include "src/base/text.hpp"

namespace sinew {

/// The functions in use. The macros of pmix.h would need more of them and are avoided.
struct PmixClient::Library {
    Library() {
        void* const handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (handle == nullptr) unusable(::dlerror());
        find(handle, "PMIx_Init", init);
        find(handle, "PMIx_Finalize", finalize);
        find(handle, "PMIx_Put", put);
        find(handle, "PMIx_Commit", commit);
        find(handle, "PMIx_Fence_nb", fence);
        find(handle, "PMIx_Get_nb", get);
        find(handle, "PMIx_Error_string", error_string);
    }

    decltype(&PMIx_Init) init = nullptr;
    decltype(&PMIx_Finalize) finalize = nullptr;
    decltype(&PMIx_Put) put = nullptr;
    decltype(&PMIx_Commit) commit = nullptr;
    decltype(&PMIx_Fence_nb) fence = nullptr;
    decltype(&PMIx_Get_nb) get = nullptr;
    decltype(&PMIx_Error_string) error_string = nullptr;

private:
    static constexpr char name[] = "libpmix.so.2";

    [[noreturn]] static void unusable(std::string const& why) {
        throw Unavailable(text("a PMIx server started this process, but ", name,
                               " cannot be used (", why, "). Debian: apt-get install libpmix2"));
    }
    template <class Function>
    static void find(void* handle, char const* symbol, Function& function) {
        function = reinterpret_cast<Function>(::dlsym(handle, symbol));
        if (function == nullptr) unusable(text("it has no ", symbol));
    }
};

namespace {

struct Value {
    std::string text;
    std::uint64_t number = 0;
};

/// An answer that arrives in a thread of libpmix. It owns all data that the library reads until
/// then, and deletes itself if the wait for it was abandoned.
struct Pending {
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<pmix_status_t> status;
    bool abandoned = false;
    Value value;
    pmix_proc_t proc{};
    std::string key;
    pmix_info_t infos[2]{};

    void settle(pmix_status_t result) {
        std::unique_lock lock(mutex);
        status = result;
        bool const last = abandoned;
        changed.notify_all();
        lock.unlock();
        if (last) delete this;
    }
};

void on_status(pmix_status_t status, void* pending) {
    static_cast<Pending*>(pending)->settle(status);
}

void on_value(pmix_status_t status, pmix_value_t* value, void* data) {
    auto& pending = *static_cast<Pending*>(data);
    if (status == PMIX_SUCCESS && value != nullptr) {
        if (value->type == PMIX_STRING && value->data.string != nullptr)
            pending.value.text = value->data.string;
        else if (value->type == PMIX_UINT32) pending.value.number = value->data.uint32;
    }
    pending.settle(status);
}

void set_key(pmix_info_t& info, char const* key) { std::strncpy(info.key, key, PMIX_MAX_KEYLEN); }

std::unique_ptr<Pending> question(std::string const& job, pmix_rank_t rank, std::string const& key,
                                  std::chrono::nanoseconds timeout) {
    auto pending = std::make_unique<Pending>();
    job.copy(pending->proc.nspace, PMIX_MAX_NSLEN);
    pending->proc.rank = rank;
    pending->key = key;
    set_key(pending->infos[0], PMIX_TIMEOUT);
    pending->infos[0].value.type = PMIX_INT;
    // In whole seconds, and later than our own deadline.
    pending->infos[0].value.data.integer =
        static_cast<int>(std::chrono::duration_cast<std::chrono::seconds>(timeout).count() + 2);
    set_key(pending->infos[1], PMIX_COLLECT_DATA);
    pending->infos[1].value.type = PMIX_BOOL;
    pending->infos[1].value.data.flag = true;
    return pending;
}

/// Returns nothing if the deadline passes; `pending` is then left to its callback.
std::optional<pmix_status_t> wait(std::unique_ptr<Pending>& pending, pmix_status_t started,
                                  std::chrono::nanoseconds timeout) {
    if (started == PMIX_OPERATION_SUCCEEDED) return PMIX_SUCCESS;  // no callback follows
    if (started != PMIX_SUCCESS) return started;
    std::unique_lock lock(pending->mutex);
    if (pending->changed.wait_for(lock, timeout, [&] { return pending->status.has_value(); }))
        return pending->status;
    pending->abandoned = true;
    static_cast<void>(pending.release());
    return std::nullopt;
}

}  // namespace

void PmixClient::require(int status, std::string const& operation) const {
    if (status == PMIX_SUCCESS) return;
    throw BackendError(text("rank ", rank_, " of ", job_, ": ", operation, " failed (",
                            library_->error_string(status), ", code ", status,
                            "). Is the launcher that started this program still there?"),
                       status);
}

PmixClient::PmixClient(std::chrono::nanoseconds timeout)
    : library_(std::make_unique<Library>()), timeout_(timeout) {
    pmix_proc_t self{};
    require(library_->init(&self, nullptr, 0), "PMIx_Init");
    job_ = self.nspace;
    rank_ = static_cast<int>(self.rank);
    auto const number = [&](char const* key, bool needed) {
        auto pending = question(job_, PMIX_RANK_WILDCARD, key, timeout_);
        Pending* const data = pending.get();
        auto const status = wait(
            pending, library_->get(&data->proc, key, data->infos, 1, on_value, data), timeout_);
        if (needed) require(status.value_or(PMIX_ERR_TIMEOUT), text("asking for ", key));
        return status == PMIX_SUCCESS ? static_cast<int>(pending->value.number) : 0;
    };
    size_ = number(PMIX_JOB_SIZE, true);
    local_size_ = number(PMIX_LOCAL_SIZE, false);
    if (size_ <= rank_)
        throw BackendError(text("the PMIx server has given no size to job ", job_, " of rank ",
                                rank_, ". Start the program with sinew run"),
                           PMIX_ERROR);
}

PmixClient::~PmixClient() = default;

void PmixClient::put(std::string const& key, std::string const& value) {
    pmix_value_t wrapped{};
    std::string copy = value;
    wrapped.type = PMIX_STRING;
    wrapped.data.string = copy.data();
    require(library_->put(PMIX_GLOBAL, key.c_str(), &wrapped), "PMIx_Put");
}

void PmixClient::exchange() {
    require(library_->commit(), "PMIx_Commit");
    auto pending = question(job_, PMIX_RANK_WILDCARD, "", timeout_);
    Pending* const data = pending.get();
    auto const status =
        wait(pending, library_->fence(&data->proc, 1, data->infos, 2, on_status, data), timeout_);
    if (!status)
        throw Timeout(text("rank ", rank_, " of ", size_, ": not all ranks of ", job_,
                           " came to the exchange of addresses in time. Are they alive? "
                           "SINEW_TIMEOUT sets the deadline"));
    require(*status, "the exchange of addresses");
}

std::string PmixClient::get(int rank, std::string const& key) {
    auto pending = question(job_, static_cast<pmix_rank_t>(rank), key, timeout_);
    Pending* const data = pending.get();
    auto const status =
        wait(pending, library_->get(&data->proc, data->key.c_str(), data->infos, 1, on_value, data),
             timeout_);
    if (!status)
        throw Timeout(text("rank ", rank_, " of ", size_, ": the PMIx server did not give ", key,
                           " of rank ", rank, " in time. Is that rank alive?"));
    require(*status, text("asking for ", key, " of rank ", rank));
    return pending->value.text;
}

void PmixClient::leave() { library_->finalize(nullptr, 0); }

}  // namespace sinew
