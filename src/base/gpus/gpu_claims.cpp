// SPDX-License-Identifier: Apache-2.0
#include "src/base/gpus/gpu_claims.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <optional>
#include <random>
#include <set>
#include <thread>

#include "src/base/env.hpp"
#include "src/base/gpus/gpus.hpp"
#include "src/base/text.hpp"

namespace sinew {
namespace {

constexpr char scope_variable[] = "SINEW_GPU_SCOPE";
constexpr int tries = 5, tries_if_free = 50;

/// The scope in which a GPU is claimed, and its GPUs. Empty: that of the host.
struct Scope {
    std::string name;
    std::vector<std::string> gpus;
};

Scope own_scope() {
    auto const given = env(scope_variable);
    auto const colon = given ? given->find(':') : std::string::npos;
    if (colon == std::string::npos) return {};
    return {given->substr(0, colon), named_gpus(std::string_view(*given).substr(colon + 1))};
}

// MIG devices have a '/' in their names.
std::string in_file_name(std::string word) {
    std::replace(word.begin(), word.end(), '/', '_');
    return word;
}

std::string claim_of(Scope const& scope, std::string const& gpu) {
    bool const inside = std::find(scope.gpus.begin(), scope.gpus.end(), gpu) != scope.gpus.end();
    return in_file_name("gpu-" + (inside ? scope.name + "-" : "") + gpu);
}

std::string joined(std::vector<std::string> const& words) {
    std::string all;
    for (auto const& word : words) all += (all.empty() ? "" : ",") + word;
    return all;
}

}  // namespace

bool GpuClaims::take(std::vector<std::string> const& there, std::size_t count,
                     std::string const& owner) {
    if (there.size() < count) {
        in_use_ = gpus_in_use(there);
        return false;
    }
    std::random_device random;
    for (int attempt = 1; !try_take(there, count, owner); ++attempt) {
        if (attempt >= tries) {
            // Others may have released some since.
            in_use_ = gpus_in_use(there);
            bool const enough = there.size() - in_use_.size() >= count;
            if (!enough || attempt >= tries_if_free) return false;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(10 + random() % 20));
    }
    return true;
}

bool GpuClaims::try_take(std::vector<std::string> const& there, std::size_t count,
                         std::string const& owner) {
    auto const scope = own_scope();
    std::vector<std::string> gpus;
    std::vector<JobFolder> folders;
    for (auto const& gpu : there) {
        if (gpus.size() == count) break;
        auto folder = JobFolder::claim(claim_of(scope, gpu));
        if (!folder) continue;
        std::ofstream(folder->path() + "/owner") << owner << " (pid " << ::getpid() << ")\n";
        folders.push_back(std::move(*folder));
        gpus.push_back(gpu);
    }
    if (gpus.size() < count) return false;
    std::move(folders.begin(), folders.end(), std::back_inserter(folders_));
    gpus_.insert(gpus_.end(), gpus.begin(), gpus.end());
    return true;
}

void GpuClaims::release() {
    gpus_.clear();
    folders_.clear();
}

std::map<std::string, std::string> gpus_in_use(std::vector<std::string> const& there) {
    auto const scope = own_scope();
    std::map<std::string, std::string> found;
    for (auto const& gpu : there) {
        auto const claim = claim_of(scope, gpu);
        for (auto const& folder : living_folders(claim)) {
            if (name_of_folder(folder) != claim) continue;
            std::string owner;
            std::getline(std::ifstream(folder + "/owner"), owner);
            found[gpu] = owner.empty() ? "another process" : owner;
        }
    }
    return found;
}

std::string holders_of(std::map<std::string, std::string> const& in_use) {
    std::set<std::string> owners;
    for (auto const& [gpu, owner] : in_use) owners.insert(owner);
    std::string all;
    for (auto const& owner : owners) all += (all.empty() ? "" : ", ") + owner;
    return all.empty() ? "others" : all;
}

std::vector<std::string> gpu_variables(std::vector<std::string> const& gpus) {
    static thread_local std::mt19937_64 random{std::random_device()()};
    auto const list = joined(gpus);
    return {"CUDA_VISIBLE_DEVICES=" + list, "NVIDIA_VISIBLE_DEVICES=" + list,
            text(scope_variable, "=", std::hex, ::getpid(), "x", random(), ":", list)};
}

}  // namespace sinew
