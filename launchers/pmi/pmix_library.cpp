// SPDX-License-Identifier: Apache-2.0
#include "launchers/pmi/pmix_library.hpp"

#include <dlfcn.h>

#include <cctype>
#include <cstdlib>
#include <future>
#include <sinew/error.hpp>
#include <string_view>
#include <thread>

#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

constexpr char library_file[] = "libpmix.so.2";

[[noreturn]] void unusable(std::string const& why) {
    throw Unavailable(
        text(library_file, " cannot be loaded (", why, "). Debian: apt-get install libpmix2"));
}

// "OpenPMIx 4.2.2 (PMIx Standard: ...)": the first number is the major version.
int major_version(std::string_view version) {
    for (auto const& letter : version)
        if (std::isdigit(static_cast<unsigned char>(letter))) return std::atoi(&letter);
    return 0;
}

void* open_library() {
    void* const library = ::dlopen(library_file, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) unusable(::dlerror());
    return library;
}

std::shared_ptr<PmixLibrary const> find_all() {
    auto table = std::make_shared<PmixLibrary>();
    // Before version 4 the structures that are filled in here have another layout.
    if (major_version(table->version()) < 4) unusable(text(table->version(), " is older than 4.0"));
    return table;
}

struct Answer {
    std::promise<pmix_status_t> status;
    std::shared_ptr<void> keep;
};

void answered(pmix_status_t status, void* data) {
    std::unique_ptr<std::shared_ptr<Answer>> const answer(
        static_cast<std::shared_ptr<Answer>*>(data));
    (*answer)->status.set_value(status);
}

pmix_status_t await(std::string const& what, std::shared_ptr<Answer> const& answer) {
    auto future = answer->status.get_future();
    if (future.wait_for(pmix_patience) != std::future_status::ready)
        throw Timeout(text(what, " has not returned after ", pmix_patience.count(),
                           " s (libpmix is stuck). Is the loopback interface up?"));
    return future.get();
}

void run_work(pmix_status_t, void* data) {
    std::unique_ptr<std::function<void()>> const work(static_cast<std::function<void()>*>(data));
    (*work)();
}

}  // namespace

void* PmixSymbol::address() const {
    static void* const library = open_library();
    void* const found = ::dlsym(library, name);
    if (found == nullptr) unusable(text("it has no ", name));
    return found;
}

std::shared_ptr<PmixLibrary const> PmixLibrary::load() {
    static auto const library = find_all();
    return library;
}

void PmixLibrary::check(pmix_status_t status, std::string const& what) const {
    // A call that completes at once returns a status for that.
    if (status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED) return;
    throw BackendError(text(what, " failed (", error_string(status), ", PMIx status ", status,
                            "). Run with PMIX_MCA_pmix_base_verbose=5 for details"),
                       status);
}

void PmixLibrary::wait_for(
    std::string const& what, std::shared_ptr<void> keep,
    std::function<pmix_status_t(pmix_op_cbfunc_t, void*)> const& start) const {
    auto const answer = std::make_shared<Answer>();
    answer->keep = std::move(keep);
    auto* const data = new std::shared_ptr<Answer>(answer);
    auto const status = start(answered, data);
    if (status != PMIX_SUCCESS) {
        delete data;  // no callback follows
        return check(status, what);
    }
    check(await(what, answer), what);
}

void PmixLibrary::on_its_thread(std::function<void()> work) const {
    // No handler has this number: the call's only effect is the callback from that thread.
    auto* const data = new std::function<void()>(std::move(work));
    if (deregister_event_handler(SIZE_MAX, run_work, data) != PMIX_SUCCESS) delete data;
}

pmix_status_t within_patience(std::string const& what, std::function<pmix_status_t()> work) {
    auto const answer = std::make_shared<Answer>();
    std::thread([answer, work = std::move(work)] { answer->status.set_value(work()); }).detach();
    return await(what, answer);
}

}  // namespace sinew::launch
