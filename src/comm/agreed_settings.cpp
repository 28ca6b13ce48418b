// SPDX-License-Identifier: Apache-2.0
#include "src/comm/agreed_settings.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "src/base/log.hpp"
#include "src/base/text.hpp"
#include "src/comm/share.hpp"
#include "src/comm/tune_mode.hpp"

namespace sinew::detail {

namespace {

/// FNV-1a. Unlike that of std::hash, the result is the same in every process.
std::uint64_t hash_of_text(std::string const& text) {
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (char const c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    return hash;
}

std::string seconds_text(std::chrono::nanoseconds time) {
    return text(std::chrono::duration<double>(time).count(), 's');
}

/// Returns "SINEW_CHECK is 1 here and 0 on rank 0" for each setting that differs.
std::string differences(CommonSettings const& own, CommonSettings const& agreed) {
    std::string all;
    auto const compare = [&](char const* name, auto const& mine, auto const& theirs) {
        if (mine != theirs)
            all += text(all.empty() ? "" : ", ", name, " is ", mine, " here and ", theirs,
                        " on rank 0");
    };
    auto const quoted = [](std::string const& words) { return text('"', words, '"'); };
    compare("SINEW_CHECK", own.check, agreed.check);
    compare("SINEW_ALGORITHM", quoted(own.forced_algorithms), quoted(agreed.forced_algorithms));
    compare("SINEW_CALIBRATE", own.calibrate, agreed.calibrate);
    compare("SINEW_NODE_MEMORY", own.node_memory, agreed.node_memory);
    compare("SINEW_NODE_DOMAINS", name_of(own.domains), name_of(agreed.domains));
    compare("SINEW_TUNE", name_of(own.tune), name_of(agreed.tune));
    compare("SINEW_TIMEOUT", seconds_text(own.deadlines.silent),
            seconds_text(agreed.deadlines.silent));
    compare("SINEW_LATE_TIMEOUT", seconds_text(own.deadlines.late),
            seconds_text(agreed.deadlines.late));
    return all;
}

void warn_once(std::string const& self, std::string const& differing) {
    static std::atomic<bool> warned{false};
    if (warned.exchange(true)) return;
    log_warning(text(self, ": ", differing,
                     ". The values of rank 0 apply to all ranks. Set them alike everywhere (mpirun "
                     "-x NAME carries them to other hosts)"));
}

}  // namespace

SettingsDigest SettingsDigest::of(CommonSettings const& settings) {
    return {.timeout_ns = std::chrono::nanoseconds(settings.deadlines.silent).count(),
            .late_timeout_ns = std::chrono::nanoseconds(settings.deadlines.late).count(),
            .algorithms_hash = hash_of_text(settings.forced_algorithms),
            .algorithms_bytes = static_cast<std::uint32_t>(settings.forced_algorithms.size()),
            .check = settings.check,
            .calibrate = settings.calibrate,
            .node_memory = settings.node_memory,
            .timeline = settings.timeline,
            .tune = static_cast<std::uint8_t>(settings.tune),
            .domains = static_cast<std::uint8_t>(settings.domains)};
}

void adopt_settings(collectives::Channel& channel, std::span<SettingsDigest const> by_rank,
                    CommonSettings& own, std::string const& self) {
    SettingsDigest const& first = by_rank.front();
    CommonSettings agreed = own;
    agreed.deadlines = {std::chrono::nanoseconds(first.timeout_ns),
                        std::chrono::nanoseconds(first.late_timeout_ns)};
    agreed.check = first.check != 0;
    agreed.calibrate = first.calibrate != 0;
    agreed.node_memory = first.node_memory != 0;
    agreed.timeline = first.timeline != 0;  // the others need not know of it
    agreed.tune = static_cast<TuneMode>(first.tune);
    agreed.domains = static_cast<DomainLevel>(first.domains);
    bool const same_text = std::all_of(by_rank.begin(), by_rank.end(), [&](auto const& other) {
        return other.algorithms_hash == first.algorithms_hash &&
               other.algorithms_bytes == first.algorithms_bytes;
    });
    if (!same_text)
        agreed.forced_algorithms =
            text_of_rank_0(channel, own.forced_algorithms, first.algorithms_bytes);
    if (auto const differing = differences(own, agreed); !differing.empty())
        warn_once(self, differing);
    own = agreed;
}

}  // namespace sinew::detail
