// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/collectives/results/table.hpp"

#include <algorithm>
#include <iomanip>
#include <ostream>
#include <sinew/comm/data_type.hpp>

#include "benchmarks/support/text.hpp"

namespace sinew::bench {

namespace {

constexpr int size_width = 11, count_width = 11, type_width = 10, op_width = 12,
              algorithm_width = 25, variant_width = 8, number_width = 10, wrong_width = 8,
              state_width = 15, best_width = 30, least_tail_calls = 100;

std::string microseconds(double us) { return fixed(us, us < 1000 ? 2 : 1); }

int peer_width(std::string const& name) {
    return std::max(number_width, static_cast<int>(name.size()) + 2);
}

}  // namespace

Table::Table(std::ostream& out, Columns columns) : out_(out), columns_(std::move(columns)) {}

void Table::print_head(Row const& row) {
    collective_ = row.collective;
    std::ostringstream heads, units;
    heads << std::right;
    auto const column = [&](int width, std::string_view head, std::string_view unit = "") {
        heads << std::setw(width) << head;
        units << std::setw(width) << unit;
    };
    auto const time_columns = [&](std::string const& name, int width) {
        column(width, name, "(us)");
        column(number_width, "ratio");
        if (columns_.link) column(number_width, "of link");
        if (columns_.tail) column(number_width, "p99", "(us)");
    };
    column(size_width, "size", "(B)");
    column(count_width, "count");
    column(type_width, "type");
    column(op_width, "redop");
    column(algorithm_width, "algorithm");
    column(variant_width, "variant");
    column(number_width, "time", "(us)");
    column(number_width, "algbw", "(GB/s)");
    column(number_width, "busbw", "(GB/s)");
    if (columns_.link) column(number_width, "of link");
    if (columns_.limit) column(number_width, "of limit");
    if (columns_.tail) {
        column(number_width, "single", "(us)");
        column(number_width, "p99", "(us)");
    }
    column(wrong_width, "#wrong");
    for (std::string const& peer : columns_.peers) time_columns(peer, peer_width(peer));
    if (columns_.best) {
        column(best_width, "best of all peers");
        column(number_width, "time", "(us)");
        column(number_width, "ratio");
    }
    column(state_width, "state");
    std::string under = std::move(units).str();
    under.erase(under.find_last_not_of(' ') + 1);  // no spaces at the end of the line
    out_ << "\n# " << row.collective << '\n' << heads.str() << '\n' << under << '\n';
}

void Table::print(Row const& row) {
    if (row.collective != collective_) print_head(row);
    auto const column = [this](int width, std::string const& cell) {
        out_ << std::setw(width) << cell;
    };
    auto const part = [&](std::optional<double> const& value) {
        column(number_width, value ? fixed(*value, 3) : "-");
    };
    auto const p99 = [&](std::optional<Tail> const& tail) {
        // Of fewer calls it would be little else than the longest.
        bool const known = tail && tail->calls >= least_tail_calls;
        column(number_width, known ? microseconds(tail->p99) : "-");
    };
    column(size_width, text(row.bytes));
    column(count_width, text(row.bytes / parse_data_type(row.dtype).size()));
    column(type_width, row.dtype);
    column(op_width, row.op);
    column(algorithm_width, row.algorithm);
    column(variant_width, row.variant);
    column(number_width, microseconds(row.us.p50));
    column(number_width, fixed(row.algbw_gbs, 2));
    column(number_width, fixed(row.busbw_gbs, 2));
    if (columns_.link) part(row.fraction_of_link);
    if (columns_.limit) part(row.of_limit());
    if (columns_.tail) {
        column(number_width, row.tail ? microseconds(row.tail->p50) : "-");
        p99(row.tail);
    }
    column(wrong_width, row.wrong ? text(*row.wrong) : "N/A");
    for (std::string const& name : columns_.peers) {
        auto const is = [&](PeerResult const& peer) { return peer.name == name; };
        auto const peer = std::find_if(row.peers.begin(), row.peers.end(), is);
        bool const measured = peer != row.peers.end();
        column(peer_width(name), measured ? microseconds(peer->us.p50) : "-");
        column(number_width, measured ? fixed(peer->ratio, 2) : "-");
        if (columns_.link) part(measured ? peer->fraction_of_link : std::nullopt);
        if (columns_.tail) p99(measured ? peer->tail : std::nullopt);
    }
    if (columns_.best) {
        PeerResult const* const best = best_peer(row.peers);
        column(best_width, best ? best->name : "-");
        column(number_width, best ? microseconds(best->us.p50) : "-");
        column(number_width, best ? fixed(best->ratio, 2) : "-");
    }
    column(state_width, row.state);
    out_ << std::endl;  // flushes, so that each row is seen at once
}

}  // namespace sinew::bench
