// SPDX-License-Identifier: Apache-2.0
#include "launchers/pmi/open_mpi_shortcuts.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace sinew::launch {
namespace {

namespace fs = std::filesystem;

bool has_device(fs::path const& folder, std::string_view prefix) {
    std::error_code none;
    auto const devices = fs::directory_iterator(folder, none);
    return std::any_of(begin(devices), end(devices), [&](fs::directory_entry const& device) {
        return device.path().filename().string().starts_with(prefix);
    });
}

// The value that a parameter file gives to `name`; empty if there is none.
std::string parameter(fs::path const& file, std::string_view name) {
    std::ifstream lines(file);
    std::string found;
    for (std::string line; std::getline(lines, line);) {
        auto const equals = line.find('=');
        if (equals == std::string::npos) continue;
        auto const trimmed = [](std::string text) {
            std::erase_if(text, [](unsigned char c) { return std::isspace(c) != 0; });
            return text;
        };
        if (trimmed(line.substr(0, equals)) == name) found = trimmed(line.substr(equals + 1));
    }
    return found;
}

/// Enables Open MPI's component pt2pt, which does one-sided communication between nodes without an
/// RDMA network. Debian's file excludes it, so that MPI_Win_create fails there, also under mpirun.
/// Other components have priority over it wherever they work.
std::vector<std::string> one_sided(std::string const& root, std::string const& home) {
    if (has_device(root + "/sys/class/infiniband", "")) return {};
    if (!parameter(home + "/.openmpi/mca-params.conf", "osc").empty())
        return {};  // the user has chosen
    auto const said = parameter(root + "/etc/openmpi/openmpi-mca-params.conf", "osc");
    if (!said.empty() && said.front() != '^') return {};
    std::string out = "^ucx";
    for (std::size_t at = 1; at < said.size();) {
        auto const end = std::min(said.find(',', at), said.size());
        auto const name = said.substr(at, end - at);
        if (!name.empty() && name != "ucx" && name != "pt2pt") out += "," + name;
        at = end + 1;
    }
    return {"OMPI_MCA_osc=" + out};
}

std::vector<std::string> drivers(std::string const& root, std::string const& home) {
    if (has_device(root + "/dev", "hfi1") || has_device(root + "/dev", "ipath")) return {};
    // A variable replaces the value of the files (Debian's: "^ofi"), so that is repeated.
    auto chosen = parameter(home + "/.openmpi/mca-params.conf", "mtl");
    if (chosen.empty()) chosen = parameter(root + "/etc/openmpi/openmpi-mca-params.conf", "mtl");
    if (!chosen.empty() && chosen.front() != '^') return {};
    return {"OMPI_MCA_mtl=" + (chosen.empty() ? "^" : chosen + ",") + "psm,psm2"};
}

}  // namespace

std::vector<std::string> open_mpi_shortcuts(std::string const& root, std::string const& home) {
    auto words = drivers(root, home);
    for (auto& word : one_sided(root, home)) words.push_back(std::move(word));
    return words;
}

}  // namespace sinew::launch
