// SPDX-License-Identifier: Apache-2.0
#include "collectives/nccl/diagnosis.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <deque>
#include <fstream>
#include <string_view>

#include "src/base/env.hpp"
#include "src/base/text.hpp"

namespace sinew::collectives::nccl {

namespace {

constexpr std::uint64_t mebi = std::uint64_t{1} << 20;
/// What NCCL may need of /dev/shm for each rank.
constexpr std::uint64_t shm_of_a_rank = 32 * mebi;

template <std::size_t size>
void put(char (&to)[size], std::string const& from) {
    to[from.copy(to, size - 1)] = '\0';
}

std::string own_host() {
    std::array<char, 64> name{};
    ::gethostname(name.data(), name.size() - 1);
    return name.data();
}

/// FNV-1a.
std::uint64_t hash(std::string_view words) {
    std::uint64_t value = 0xcbf29ce484222325u;
    for (char const c : words) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    return value;
}

std::string interfaces_up() {
    std::string list;
    ::ifaddrs* all = nullptr;
    if (::getifaddrs(&all) != 0) return list;
    for (auto const* at = all; at != nullptr; at = at->ifa_next) {
        bool const up = (at->ifa_flags & IFF_UP) != 0 && (at->ifa_flags & IFF_LOOPBACK) == 0;
        if (!up || at->ifa_addr == nullptr) continue;
        if (text(',', list, ',').find(text(',', at->ifa_name, ',')) != std::string::npos) continue;
        list.append(list.empty() ? "" : ",").append(at->ifa_name);
    }
    ::freeifaddrs(all);
    return list;
}

/// Whether NCCL takes two ranks to be on the same host.
bool same_host(RankFacts const& a, RankFacts const& b) {
    std::string_view const id_a = a.host_id, id_b = b.host_id;
    if (id_a.empty() != id_b.empty()) return false;
    return id_a.empty() ? a.boot == b.boot : id_a == id_b;
}

std::string rank_text(std::span<RankFacts const> ranks, std::size_t rank) {
    return text("rank ", rank, " on ", ranks[rank].host);
}

std::string lower(std::string words) {
    for (char& c : words) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return words;
}

bool has_any(std::string const& words, std::initializer_list<char const*> parts) {
    return std::any_of(parts.begin(), parts.end(),
                       [&](char const* part) { return words.find(part) != std::string::npos; });
}

/// Returns "rank 2 on node-b" of the first rank whose host has too little shared memory.
std::string short_of_shared_memory(std::span<RankFacts const> ranks) {
    for (std::size_t r = 0; r < ranks.size(); ++r) {
        auto const together = std::count_if(ranks.begin(), ranks.end(), [&](RankFacts const& one) {
            return same_host(one, ranks[r]);
        });
        if (together > 1 &&
            ranks[r].shm_free < static_cast<std::uint64_t>(together) * shm_of_a_rank)
            return text("/dev/shm has only ", ranks[r].shm_free / mebi, " MiB free for ", together,
                        " ranks (", rank_text(ranks, r),
                        "). In a container, give it more (docker run --shm-size=1g)");
    }
    return {};
}

std::string cause(std::span<RankFacts const> ranks, std::string const& words) {
    if (has_any(words, {"duplicate gpu"}))
        return "two ranks use the same GPU. Give each its own (CUDA_VISIBLE_DEVICES, sinew run "
               "--gpus)";
    if (has_any(words, {"driver version is insufficient", "cuda driver"}))
        return text("the NVIDIA driver (CUDA ", ranks[0].driver_version / 1000, '.',
                    ranks[0].driver_version % 1000 / 10,
                    " on rank 0) is older than this NCCL needs");
    auto const shared_memory = short_of_shared_memory(ranks);
    if (has_any(words, {"shm", "shared memory", "no space left"}))
        return shared_memory.empty() ? "/dev/shm cannot be used: is it mounted, and writable?"
                                     : shared_memory;
    if (has_any(words, {"out of memory", "memory allocation"}))
        return "a GPU has too little free memory for NCCL's buffers (NCCL_BUFFSIZE makes them "
               "smaller)";
    bool const several_hosts = std::any_of(ranks.begin(), ranks.end(), [&](RankFacts const& one) {
        return !same_host(one, ranks[0]);
    });
    bool const network = has_any(words, {"socket", "connect", "refused", "no route", "unreachable",
                                         "timed out", "interface", "bootstrap"});
    if (network || (several_hosts && words.empty())) {
        std::string seen;
        for (std::size_t r = 0; r < ranks.size() && r < 4; ++r)
            seen += text(r == 0 ? "" : "; ", rank_text(ranks, r), ": ",
                         ranks[r].interfaces[0] != '\0' ? ranks[r].interfaces : "none but loopback",
                         ranks[r].chosen[0] != '\0' ? text(", NCCL_SOCKET_IFNAME=", ranks[r].chosen)
                                                    : std::string());
        return text("the ranks do not reach each other over the interfaces that NCCL has chosen (",
                    seen, "). Set NCCL_SOCKET_IFNAME to the one that connects them");
    }
    if (!shared_memory.empty()) return shared_memory;
    return "not known. NCCL_DEBUG=INFO shows what NCCL does";
}

}  // namespace

RankFacts RankFacts::of(Library const* library, std::string const& why, CudaDriver const& driver,
                        CudaDriver::Context context) {
    RankFacts facts;
    std::string const host = own_host();
    std::string boot;
    std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
    facts.boot = hash(host + boot);
    put(facts.host, host);
    put(facts.host_id, env("NCCL_HOSTID").value_or(""));
    put(facts.chosen, env("NCCL_SOCKET_IFNAME").value_or(""));
    put(facts.interfaces, interfaces_up());
    put(facts.why, why);
    struct ::statvfs shm {};
    if (::statvfs("/dev/shm", &shm) == 0) facts.shm_free = shm.f_bavail * shm.f_frsize;
    int number = 0;
    if (driver.driver_version(&number) == CudaDriver::success) facts.driver_version = number;
    CudaContextScope const scope(driver, context);
    if (driver.context_device(&number) == CudaDriver::success) {
        facts.device = number;
        driver.device_uuid(&facts.uuid, number);
    }
    if (library != nullptr) facts.nccl_version = library->version();
    return facts;
}

std::string obstacle(std::span<RankFacts const> ranks) {
    for (std::size_t r = 0; r < ranks.size(); ++r)
        if (ranks[r].wish == RankFacts::Wish::off)
            return text("SINEW_NCCL=0 on ", rank_text(ranks, r));
    for (std::size_t r = 0; r < ranks.size(); ++r)
        if (ranks[r].nccl_version == 0) return text(rank_text(ranks, r), ": ", ranks[r].why);
    for (std::size_t r = 1; r < ranks.size(); ++r)
        if (ranks[r].nccl_version != ranks[0].nccl_version)
            return text("the ranks have different versions of NCCL: ",
                        Library::version_text(ranks[0].nccl_version), " on ", rank_text(ranks, 0),
                        ", ", Library::version_text(ranks[r].nccl_version), " on ",
                        rank_text(ranks, r), ". Install the same everywhere");
    for (std::size_t r = 1; r < ranks.size(); ++r)
        for (std::size_t other = 0; other < r; ++other)
            if (same_host(ranks[r], ranks[other]) && ranks[r].uuid == ranks[other].uuid)
                return text("ranks ", other, " and ", r, " on ", ranks[r].host,
                            " use the same GPU (device ", ranks[other].device, " of rank ", other,
                            ", device ", ranks[r].device, " of rank ", r,
                            "), which NCCL does not allow. Give each rank its own (sinew run "
                            "--gpus-per-rank 1, or cudaSetDevice)");
    return {};
}

std::string explain_failed_start(std::span<RankFacts const> ranks,
                                 std::span<Outcome const> outcomes) {
    std::string failed, stuck, words;
    for (std::size_t r = 0; r < outcomes.size(); ++r) {
        Outcome const& outcome = outcomes[r];
        if (outcome.state == Outcome::State::failed) {
            failed += text(failed.empty() ? "" : "; ", rank_text(ranks, r), ": ", outcome.words);
            words.append(lower(outcome.words)).append("\n");
        } else if (outcome.state == Outcome::State::stuck) {
            stuck += text(stuck.empty() ? "" : ", ", rank_text(ranks, r));
        }
    }
    if (failed.empty() && stuck.empty()) return {};
    std::string all = failed;
    if (!stuck.empty())
        all += text(all.empty() ? "" : "; ", "still inside NCCL's initialisation: ", stuck);
    return text(all, ". Likely cause: ", cause(ranks, words));
}

std::string captured_warnings() {
    auto pattern = env("NCCL_DEBUG_FILE");
    if (!pattern) return {};
    auto const replace_all = [&](std::string_view from, std::string const& to) {
        for (std::size_t at = 0; (at = pattern->find(from, at)) != std::string::npos;
             at += to.size())
            pattern->replace(at, from.size(), to);
    };
    replace_all("%h", own_host());
    replace_all("%p", std::to_string(::getpid()));
    std::ifstream file(*pattern);
    std::deque<std::string> last;
    for (std::string line; std::getline(file, line);) {
        if (line.find("NCCL WARN") == std::string::npos) continue;
        last.push_back(line.substr(line.find("NCCL WARN") + 10));
        if (last.size() > 2) last.pop_front();
    }
    std::string all;
    for (auto const& line : last) all.append(all.empty() ? "" : "; ").append(line);
    return all;
}

}  // namespace sinew::collectives::nccl
