// SPDX-License-Identifier: Apache-2.0
#include "src/lease/locks/holders.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <vector>

#include "src/base/text.hpp"
#include "src/lease/locks/layout.hpp"

namespace sinew::lease {
namespace {

namespace fs = std::filesystem;

/// The kernel shows the locks of an open file as lines of /proc/<pid>/fdinfo/<fd>:
/// "lock: 1: OFDLCK ADVISORY  WRITE -1 fe:00:10977595 1099511627776 1099511627776".
bool has_lease(fs::path const& fdinfo, std::string const& inode) {
    std::ifstream in(fdinfo);
    for (std::string line; std::getline(in, line);) {
        std::istringstream words(line);
        std::string lock, number, kind, mode, type, pid, where;
        std::int64_t begin = 0;
        if (words >> lock >> number >> kind >> mode >> type >> pid >> where >> begin &&
            lock == "lock:" && kind == "OFDLCK" && type == "WRITE" && where.ends_with(inode) &&
            layout::holders.begin <= begin && begin < layout::holders.end)
            return true;
    }
    return false;
}

template <class Visit>
void for_each_in(fs::path const& folder, Visit const& visit) {
    std::error_code none;
    for (fs::directory_iterator at(folder, none), end; !none && at != end; at.increment(none))
        visit(at->path());
}

std::vector<std::string> visible_holders(LockFile const& file) {
    struct ::stat about {};
    ::fstat(file.fd(), &about);
    auto const inode = text(':', about.st_ino);
    std::vector<std::string> found;
    for_each_in("/proc", [&](fs::path const& process) {
        auto const pid = process.filename().string();
        if (pid.find_first_not_of("0123456789") != std::string::npos) return;
        bool has = false;
        for_each_in(process / "fdinfo",
                    [&](fs::path const& each) { has = has || has_lease(each, inode); });
        if (!has) return;
        std::string name;
        std::getline(std::ifstream(process / "comm"), name);
        found.push_back(text(name, " (pid ", pid, ')'));
    });
    return found;
}

}  // namespace

std::string describe_holders(LockFile const& file) {
    auto const visible = visible_holders(file);
    auto const all = file.positions_of_others(layout::holders).size();
    if (visible.empty() && all == 0) return "there are no leases";
    std::string words = "leases are held by ";
    for (std::size_t i = 0; i < visible.size(); ++i) words += (i > 0 ? ", " : "") + visible[i];
    if (all > visible.size()) {
        auto const others = all - visible.size();
        words +=
            text(visible.empty() ? "" : " and ", others,
                 others == 1 ? " process that is" : " processes that are", " not visible here");
    }
    return words;
}

}  // namespace sinew::lease
