// SPDX-License-Identifier: Apache-2.0
#include "collectives/nccl/library.hpp"

#include <glob.h>

#include <algorithm>
#include <mutex>
#include <optional>

#include <sinew/error.hpp>

#include "src/base/env.hpp"
#include "src/base/text.hpp"

namespace sinew::collectives::nccl {

namespace {

constexpr char const* soname = "libnccl.so.2";

/// Appends the files that match a pattern of glob(7), the highest version of Python first.
void append_matches(std::vector<std::string>& files, std::string const& pattern) {
    ::glob_t found{};
    if (::glob(pattern.c_str(), 0, nullptr, &found) == 0)
        for (std::size_t i = found.gl_pathc; i > 0; --i) {
            std::string const file = found.gl_pathv[i - 1];
            if (std::find(files.begin(), files.end(), file) == files.end()) files.push_back(file);
        }
    ::globfree(&found);
}

}  // namespace

std::string Library::version_text(int version) {
    // Up to 2.8 a version was major * 1000 + minor * 100 + patch.
    int const major = version < 10000 ? version / 1000 : version / 10000;
    int const minor = version < 10000 ? version % 1000 / 100 : version % 10000 / 100;
    return text(major, '.', minor, '.', version % 100);
}

std::vector<std::string> Library::python_packages(std::string const& root) {
    std::vector<std::string> files;
    std::string const package = "/nvidia/nccl/lib/libnccl.so.2";
    for (char const* const variable : {"VIRTUAL_ENV", "CONDA_PREFIX"})
        if (auto const prefix = env(variable))
            append_matches(files, root + *prefix + "/lib/python3*/site-packages" + package);
    if (auto const paths = env("PYTHONPATH"))
        for (std::size_t from = 0; from <= paths->size();) {
            std::size_t const to = std::min(paths->find(':', from), paths->size());
            if (to > from) append_matches(files, root + paths->substr(from, to - from) + package);
            from = to + 1;
        }
    if (auto const home = env("HOME"))
        append_matches(files, root + *home + "/.local/lib/python3*/site-packages" + package);
    for (char const* const folder :
         {"/usr/local/lib/python3*/dist-packages", "/usr/local/lib/python3*/site-packages",
          "/usr/lib/python3*/site-packages", "/usr/lib/python3/dist-packages",
          "/opt/conda/lib/python3*/site-packages"})
        append_matches(files, root + folder + package);
    return files;
}

Library::Library(SharedLibrary library) : library_(std::move(library)) {
    path_ = library_.path_of("ncclGetVersion");
    auto const need = [&](char const* symbol, auto& function) {
        if (!library_.look_up(symbol, function))
            throw Unavailable(text(
                path_, " has no ", symbol,
                version_ != 0 ? text(" (it is NCCL ", version_text(), "; 2.14 or later is needed)")
                              : std::string(". It is not NCCL")));
    };
    need("ncclGetVersion", functions_.get_version);
    if (functions_.get_version(&version_) != success || version_ <= 0)
        throw Unavailable(text(path_, " does not tell its version"));
    if (version_ < oldest)
        throw Unavailable(text(path_, " is NCCL ", version_text(),
                               ", but 2.14 or later is needed (communicators that do not block)"));
    need("ncclGetUniqueId", functions_.get_unique_id);
    need("ncclCommInitRankConfig", functions_.init_rank_config);
    need("ncclCommFinalize", functions_.finalize);
    need("ncclCommDestroy", functions_.destroy);
    need("ncclCommAbort", functions_.abort);
    need("ncclCommGetAsyncError", functions_.async_error);
    need("ncclGetErrorString", functions_.error_string);
    need("ncclGetLastError", functions_.last_error);
    need("ncclGroupStart", functions_.group_start);
    need("ncclGroupEnd", functions_.group_end);
    need("ncclAllReduce", functions_.all_reduce);
    need("ncclReduce", functions_.reduce);
    need("ncclBroadcast", functions_.broadcast);
    need("ncclReduceScatter", functions_.reduce_scatter);
    need("ncclAllGather", functions_.all_gather);
    need("ncclSend", functions_.send);
    need("ncclRecv", functions_.receive);
    need("ncclRedOpCreatePreMulSum", functions_.create_pre_mul_sum);
    need("ncclRedOpDestroy", functions_.destroy_op);
    // By version, too: a symbol may exist before its feature works.
    if (version_ >= first_with_revoke) library_.look_up("ncclCommRevoke", functions_.revoke);
    if (version_ >= first_with_all_to_all) library_.look_up("ncclAlltoAll", functions_.all_to_all);
}

Library Library::find(std::string const& root) {
    if (auto const named = env("SINEW_NCCL_LIBRARY")) {
        try {
            return Library(SharedLibrary::open(*named));
        } catch (Unavailable const& error) {
            throw Unavailable(text("SINEW_NCCL_LIBRARY=", *named, ": ", error.what()));
        }
    }
    if (SharedLibrary const loaded = SharedLibrary::already_loaded(soname)) return Library(loaded);
    std::string tried;
    std::vector<std::string> candidates = python_packages(root);
    candidates.insert(candidates.begin(), soname);
    for (std::string const& candidate : candidates) {
        try {
            return Library(SharedLibrary::open(candidate));
        } catch (Unavailable const& error) {
            tried += text(tried.empty() ? "" : "; ", error.what());
        }
    }
    throw Unavailable(
        text("NCCL was not found (", tried,
             "). Install libnccl2 or the Python package nvidia-nccl-cu13, or name the "
             "file in SINEW_NCCL_LIBRARY"));
}

Library const& Library::of_process() {
    static std::mutex mutex;
    static std::optional<Library> found;
    std::lock_guard const lock(mutex);
    if (!found) found.emplace(find());
    return *found;
}

std::string Library::words(int result, Handle comm) const {
    char const* const kind = functions_.error_string(result);
    char const* const last = functions_.last_error(comm);
    std::string const what = kind != nullptr ? kind : text("NCCL error ", result);
    return last != nullptr && *last != '\0' ? text(what, ": ", last) : what;
}

void Library::check(int result, char const* function, Handle comm) const {
    if (result != success && result != in_progress)
        throw BackendError(text(function, ": ", words(result, comm)), result);
}

}  // namespace sinew::collectives::nccl
