// SPDX-License-Identifier: Apache-2.0
//
// What kubectl prints, and what the log of a job's first pod says of where its ranks are, with any contents: it is
// refused, or gives values that are safe to use.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "launchers/io/output_record.hpp"
#include "launchers/io/rank_nodes.hpp"
#include "launchers/kubernetes/kubectl/kubectl_output.hpp"

namespace {

using namespace sinew::launch;

void expect(bool holds) {
    if (!holds) std::abort();
}

void forwarding(std::string_view line) {
    auto const found = kubernetes::parse_forwarding_line(line);
    if (!found) return;
    expect(line.starts_with("Forwarding from ") && !found->address.empty());
    expect(found->local != 0 && found->remote != 0);
}

void reason(std::string_view errors) {
    auto const words = kubernetes::kubectl_reason(errors);
    expect(words.size() <= 2000);
    for (char const c : words) expect(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
    if (auto const right = kubernetes::missing_right(words)) expect(right->size() < words.size());
}

void rank_nodes(std::string_view line) {
    auto const found = RankNodes::parse(line);
    if (!found) return;
    expect(found->size() <= most_ranks_of_job);
    for (int rank = 0; rank < found->size(); rank += 1 + found->size() / 100) found->node_of(rank);
}

}  // namespace

// The first byte selects who takes the rest.
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    std::string_view const all(reinterpret_cast<char const*>(data), size);
    if (all.empty()) return 0;
    auto const rest = all.substr(1);
    if (all.front() % 3 == 0) forwarding(rest);
    else if (all.front() % 3 == 1) reason(rest);
    else rank_nodes(rest);
    return 0;
}
