// SPDX-License-Identifier: Apache-2.0
#include "launchers/common/job_name.hpp"

#include <algorithm>
#include <random>

namespace sinew::launch {
namespace {

constexpr std::size_t longest = 63;  // of an RFC 1123 label
constexpr std::size_t random_part = 5;
// Those of Kubernetes' names: without vowels, and digits that look like letters.
constexpr std::string_view random_letters = "bcdfghjklmnpqrstvwxz2456789";

bool is_plain(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

}  // namespace

bool is_job_name(std::string_view name) {
    if (name.empty() || name.size() > longest) return false;
    if (!is_plain(name.front()) || !is_plain(name.back())) return false;
    return std::all_of(name.begin(), name.end(), [](char c) { return is_plain(c) || c == '-'; });
}

std::string make_job_name(std::string_view program) {
    if (auto const slash = program.rfind('/'); slash != program.npos)
        program.remove_prefix(slash + 1);
    std::string name;
    for (char c : program.substr(0, longest - random_part - 1)) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
        if (is_plain(c)) name += c;
        else if (!name.empty() && name.back() != '-') name += '-';
    }
    if (name.empty()) name = "job";
    if (name.back() != '-') name += '-';
    std::random_device random;
    std::uniform_int_distribution<std::size_t> any(0, random_letters.size() - 1);
    for (std::size_t i = 0; i < random_part; ++i) name += random_letters[any(random)];
    return name;
}

}  // namespace sinew::launch
