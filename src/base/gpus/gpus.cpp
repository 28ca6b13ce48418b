// SPDX-License-Identifier: Apache-2.0
#include "src/base/gpus/gpus.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <string_view>

namespace sinew {
namespace {

namespace fs = std::filesystem;

template <class Counts>
std::size_t count_in(std::string const& folder, Counts const& counts) {
    std::size_t count = 0;
    std::error_code none;
    for (fs::directory_iterator at(folder, none), end; !none && at != end; at.increment(none))
        if (counts(at->path().filename().string())) ++count;
    return count;
}

bool is_device(std::string_view name) {
    if (!name.starts_with("nvidia")) return false;
    name.remove_prefix(6);
    return !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char digit) {
        return std::isdigit(digit) != 0;
    });
}

// A container may see the driver's list of all GPUs, but has device files for its own only.
std::size_t count_of_driver(std::string const& root) {
    auto const listed = count_in(root + "/proc/driver/nvidia/gpus", [](auto&&) { return true; });
    auto const files = count_in(root + "/dev", is_device);
    return listed == 0 || files == 0 ? std::max(listed, files) : std::min(listed, files);
}

// CUDA uses the devices before the first word that does not name one.
bool names_one(std::string_view word) {
    return !word.empty() && word.front() != '-' && word != "NoDevFiles" && word != "none" &&
           word != "void";
}

std::string_view trimmed(std::string_view word) {
    while (!word.empty() && word.front() == ' ') word.remove_prefix(1);
    while (!word.empty() && word.back() == ' ') word.remove_suffix(1);
    return word;
}

}  // namespace

std::vector<std::string> visible_gpus(std::string const& root) {
    if (char const* const given = std::getenv("CUDA_VISIBLE_DEVICES")) return named_gpus(given);
    std::vector<std::string> found;
    for (std::size_t i = 0, count = count_of_driver(root); i < count; ++i)
        found.push_back(std::to_string(i));
    return found;
}

std::vector<std::string> named_gpus(std::string_view left) {
    std::vector<std::string> found;
    for (;;) {
        auto const comma = left.find(',');
        auto const word = std::string(trimmed(left.substr(0, comma)));
        if (!names_one(word)) return found;
        if (std::find(found.begin(), found.end(), word) == found.end()) found.push_back(word);
        if (comma == std::string_view::npos) return found;
        left.remove_prefix(comma + 1);
    }
}

}  // namespace sinew
