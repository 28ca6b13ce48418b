// SPDX-License-Identifier: Apache-2.0
//
// What a dashboard is sent, by programs about their pools and by clients as requests, is refused, or
// shown as valid JSON within bounds. Nobody without the token gets anything but the page.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include <sinew/error.hpp>

#include "launchers/dashboard/http/answer.hpp"
#include "launchers/dashboard/metrics.hpp"
#include "launchers/dashboard/operation_report.hpp"
#include "launchers/dashboard/page/page.hpp"
#include "launchers/dashboard/pool_report.hpp"
#include "launchers/dashboard/pool_reports.hpp"
#include "launchers/dashboard/state_json.hpp"

namespace {

using namespace sinew::launch::dashboard;

void expect(bool holds) {
    if (!holds) std::abort();
}

void show(State const& state) {
    auto const all = nlohmann::json::parse(to_json(state, {}));
    expect(all.at("pools").size() <= State::most_pools);
    expect(all.at("events").size() <= State::most_events);
    expect(all.at("log").size() <= State::most_lines);
    metrics_text(state.view(), {});
}

void report(std::string_view input) {
    State state;
    PoolReports reports(state);
    for (std::size_t begin = 0; begin <= input.size();) {
        auto const end = std::min(input.find('\n', begin), input.size());
        reports.take("node", 1, input.substr(begin, end - begin), {});
        begin = end + 1;
    }
    state.add_output(0, 1, input, {});
    show(state);
    try {
        auto const pool = parse_pool_report(input);
        expect(pool.losses.size() <= 64);
    } catch (sinew::UsageError const&) {}
    try {
        expect(parse_operation_report(input).rank >= 0);
    } catch (sinew::UsageError const&) {}
}

// In pieces, as the first byte says.
void request(std::string_view input) {
    static auto const token = Token::random();
    static State const state;
    if (input.empty()) return;
    std::size_t const piece = static_cast<unsigned char>(input.front()) + 1U;
    RequestReader reader;
    int status = 0;
    for (std::size_t at = 1; at < input.size() && status == 0; at += piece)
        status = reader.take(input.substr(at, piece));
    expect(status == 0 || status == 200 || status == 400 || status == 413 || status == 431);
    if (status != 200) return;
    auto const given = answer(reader.request(), state, token, {});
    expect(!given.streams);
    if (given.status != 200) return;
    bool page = false;
    for (auto const& file : page_files()) page = page || given.bytes.ends_with(file.bytes);
    expect(page);
}

}  // namespace

/// The first byte selects the parser.
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    if (size == 0) return 0;
    std::string_view const input(reinterpret_cast<char const*>(data) + 1, size - 1);
    if (data[0] % 2 == 0) report(input);
    else request(input);
    return 0;
}
