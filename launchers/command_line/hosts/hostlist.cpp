// SPDX-License-Identifier: Apache-2.0
#include "launchers/command_line/hosts/hostlist.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include <sinew/error.hpp>

#include "launchers/command_line/hosts/hostfile.hpp"
#include "launchers/command_line/values.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

constexpr std::size_t most_hosts = 100'000;  // the maximum number of nodes of a job
constexpr int most_slots_of_host = 1'000'000;
constexpr std::size_t most_digits = 9;  // of a number in a host name; fits an int

[[noreturn]] void bad_list(std::string const& origin, std::string_view part,
                           std::string const& why) {
    constexpr std::size_t shown = 80;
    throw UsageError(text(origin, " holds ", part.substr(0, shown),
                          part.size() > shown ? "..." : "", " (", why,
                          "). Name hosts by -H, or say --backend local"));
}

void check_count(std::size_t count, std::string_view part, std::string const& origin) {
    if (count > most_hosts) bad_list(origin, part, text("more than ", most_hosts, " hosts"));
}

/// Splits at the commas outside of brackets.
std::vector<std::string_view> outer_parts(std::string_view list, std::string const& origin) {
    std::vector<std::string_view> parts;
    std::size_t begin = 0;
    bool inside = false;
    for (std::size_t at = 0; at < list.size(); ++at) {
        char const c = list[at];
        if (c == '[' || c == ']') {
            if (inside == (c == '['))
                bad_list(origin, list.substr(begin), "its brackets do not match");
            inside = c == '[';
        } else if (c == ',' && !inside) {
            parts.push_back(list.substr(begin, at - begin));
            begin = at + 1;
        }
    }
    if (inside) bad_list(origin, list.substr(begin), "its brackets do not match");
    parts.push_back(list.substr(begin));
    return parts;
}

/// Expands "7" or "01-03" and keeps leading zeros.
std::vector<std::string> expand_range(std::string_view range, std::string const& origin) {
    auto const dash = std::min(range.find('-'), range.size());
    auto const first = range.substr(0, dash);
    auto const last = dash == range.size() ? first : range.substr(dash + 1);
    auto const number = [&](std::string_view digits) {
        auto const found =
            digits.size() > most_digits ? std::nullopt : parse_int(digits, 0, 999'999'999);
        if (!found) bad_list(origin, range, "must be numbers such as 3 or 01-16");
        return *found;
    };
    int const from = number(first), to = number(last);
    if (from > to) bad_list(origin, range, "ends before it begins");
    check_count(static_cast<std::size_t>(to) - static_cast<std::size_t>(from) + 1, range, origin);
    std::vector<std::string> found;
    for (int each = from; each <= to; ++each) {
        auto digits = std::to_string(each);
        if (digits.size() < first.size()) digits.insert(0, first.size() - digits.size(), '0');
        found.push_back(std::move(digits));
    }
    return found;
}

/// Expands "rack[1-2]n[1-2]": each bracket multiplies the number of names.
std::vector<std::string> expand_name(std::string_view part, std::string const& origin) {
    std::vector<std::string> names{""};
    for (std::size_t at = 0; at < part.size();) {
        auto const open = std::min(part.find('[', at), part.size());
        for (auto& name : names) name += part.substr(at, open - at);
        if (open == part.size()) break;
        auto const close = part.find(']', open);  // exists, because the brackets match
        std::vector<std::string> endings;
        for (auto const& range : split(part.substr(open + 1, close - open - 1), ',')) {
            auto more = expand_range(range, origin);
            std::move(more.begin(), more.end(), std::back_inserter(endings));
            check_count(endings.size(), part, origin);
        }
        check_count(names.size() * endings.size(), part, origin);
        std::vector<std::string> longer;
        for (auto const& name : names)
            for (auto const& ending : endings) longer.push_back(name + ending);
        names = std::move(longer);
        at = close + 1;
    }
    return names;
}

std::vector<std::string_view> words_by_blanks(std::string_view list) {
    constexpr std::string_view blanks = " \t\r\n";
    std::vector<std::string_view> words;
    for (std::size_t at = 0; at < list.size();) {
        auto const begin = std::min(list.find_first_not_of(blanks, at), list.size());
        auto const end = std::min(list.find_first_of(blanks, begin), list.size());
        if (begin < end) words.push_back(list.substr(begin, end - begin));
        at = end;
    }
    return words;
}

int count_of_slots(std::string_view word, std::string const& origin) {
    if (auto const slots = parse_int(word, 1, most_slots_of_host)) return *slots;
    bad_list(origin, word, text("must be a number of slots, 1 to ", most_slots_of_host));
}

std::string checked_name(std::string_view word, std::string const& origin) {
    try {
        check_host(word, origin);
    } catch (UsageError const&) {
        bad_list(origin, word, "no name of a host");
    }
    return std::string(word);
}

/// Hosts in the order of their first occurrence. Adding a host again adds to its slots.
class HostsInOrder {
public:
    explicit HostsInOrder(std::string const& origin) : origin_(origin) {}
    void add(std::string_view word, int slots) {
        auto const [at, is_new] = known_.emplace(word, hosts_.size());
        if (is_new) {
            hosts_.push_back({checked_name(word, origin_), slots, 0});
            check_count(hosts_.size(), word, origin_);
            return;
        }
        auto& host = hosts_[at->second];
        if (host.slots > most_slots_of_host - slots)
            bad_list(origin_, word, text("more than ", most_slots_of_host, " slots"));
        host.slots += slots;
    }
    std::vector<HostRequest> take() {
        if (hosts_.empty()) bad_list(origin_, "nothing", "no host");
        return std::move(hosts_);
    }

private:
    std::string const& origin_;
    std::vector<HostRequest> hosts_;
    std::map<std::string, std::size_t, std::less<>> known_;
};

}  // namespace

std::vector<std::string> parse_slurm_hostlist(std::string_view list, std::string const& origin) {
    std::vector<std::string> hosts;
    for (auto const part : outer_parts(list, origin))
        for (auto const& name : expand_name(part, origin)) {
            hosts.push_back(checked_name(name, origin));
            check_count(hosts.size(), part, origin);
        }
    return hosts;
}

std::vector<int> parse_slurm_counts(std::string_view list, std::string const& origin) {
    std::vector<int> counts;
    for (std::string const& part : split(list, ',')) {
        auto const open = std::min(part.find("(x"), part.size());
        int times = 1;
        if (open < part.size()) {
            auto const repeated = std::string_view(part).substr(open + 2);
            auto const found = repeated.ends_with(')')
                                   ? parse_int(repeated.substr(0, repeated.size() - 1), 1,
                                               static_cast<int>(most_hosts))
                                   : std::nullopt;
            if (!found) bad_list(origin, part, "must be like 4 or 4(x2)");
            times = *found;
        }
        counts.insert(counts.end(), static_cast<std::size_t>(times),
                      count_of_slots(std::string_view(part).substr(0, open), origin));
        check_count(counts.size(), part, origin);
    }
    return counts;
}

std::vector<HostRequest> parse_mcpu_hosts(std::string_view list, std::string const& origin) {
    HostsInOrder hosts(origin);
    auto const words = words_by_blanks(list);
    for (std::size_t i = 0; i < words.size(); i += 2) {
        if (i + 1 == words.size()) bad_list(origin, words[i], "its number of slots is missing");
        hosts.add(words[i], count_of_slots(words[i + 1], origin));
    }
    return hosts.take();
}

std::vector<HostRequest> parse_host_per_slot(std::string_view list, std::string const& origin) {
    HostsInOrder hosts(origin);
    for (auto const word : words_by_blanks(list)) hosts.add(word, 1);
    return hosts.take();
}

std::vector<HostRequest> parse_pe_hostfile(std::string_view content, std::string const& origin) {
    HostsInOrder hosts(origin);
    for (std::string const& line : split(content, '\n')) {
        auto const words = words_by_blanks(line);
        if (words.empty()) continue;
        if (words.size() == 1) bad_list(origin, words[0], "its number of slots is missing");
        hosts.add(words[0], count_of_slots(words[1], origin));
    }
    return hosts.take();
}

}  // namespace sinew::launch
