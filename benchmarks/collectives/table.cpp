// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/collectives/table.hpp"

#include <algorithm>
#include <iomanip>
#include <ostream>
#include <sinew/comm/data_type.hpp>

#include "benchmarks/support/text.hpp"

namespace sinew::bench {

namespace {

constexpr int size_width = 11, count_width = 11, type_width = 10, op_width = 12,
              algorithm_width = 25, variant_width = 8, number_width = 10, wrong_width = 8,
              state_width = 15;

std::string fixed(double value, int digits) {
    std::ostringstream out;
    out << std::fixed << std::setprecision(digits) << value;
    return std::move(out).str();
}

std::string microseconds(double us) { return fixed(us, us < 1000 ? 2 : 1); }

int peer_width(std::string const& name) {
    return std::max(number_width, static_cast<int>(name.size()) + 2);
}

}  // namespace

Table::Table(std::ostream& out, std::vector<std::string> peers, bool link)
    : out_(out), peers_(std::move(peers)), link_(link) {}

void Table::print_head(Row const& row) {
    collective_ = row.collective;
    auto const column = [this](int width, std::string_view head) {
        out_ << std::setw(width) << head;
    };
    out_ << "\n# " << row.collective << '\n' << std::right;
    column(size_width, "size");
    column(count_width, "count");
    column(type_width, "type");
    column(op_width, "redop");
    column(algorithm_width, "algorithm");
    column(variant_width, "variant");
    column(number_width, "time");
    column(number_width, "algbw");
    column(number_width, "busbw");
    if (link_) column(number_width, "of link");
    column(wrong_width, "#wrong");
    for (std::string const& peer : peers_) {
        column(peer_width(peer), peer);
        column(number_width, "ratio");
        if (link_) column(number_width, "of link");
    }
    column(state_width, "state");
    out_ << '\n';
    column(size_width, "(B)");
    column(count_width + type_width + op_width + algorithm_width + variant_width + number_width,
           "(us)");
    column(number_width, "(GB/s)");
    column(number_width, "(GB/s)");
    if (link_) column(number_width, "");
    if (!peers_.empty()) column(wrong_width, "");
    for (std::string const& peer : peers_) {
        column(peer_width(peer), "(us)");
        if (&peer == &peers_.back()) break;  // no spaces at the end of the line
        column(number_width, "");
        if (link_) column(number_width, "");
    }
    out_ << '\n';
}

void Table::print(Row const& row) {
    if (row.collective != collective_) print_head(row);
    auto const column = [this](int width, std::string const& cell) {
        out_ << std::setw(width) << cell;
    };
    auto const link = [&](std::optional<double> const& part) {
        if (link_) column(number_width, part ? fixed(*part, 3) : "-");
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
    link(row.fraction_of_link);
    column(wrong_width, row.wrong ? text(*row.wrong) : "N/A");
    for (std::string const& name : peers_) {
        auto const is = [&](PeerResult const& peer) { return peer.name == name; };
        auto const peer = std::find_if(row.peers.begin(), row.peers.end(), is);
        bool const measured = peer != row.peers.end();
        column(peer_width(name), measured ? microseconds(peer->us.p50) : "-");
        column(number_width, measured ? fixed(peer->ratio, 2) : "-");
        link(measured ? peer->fraction_of_link : std::nullopt);
    }
    column(state_width, row.state);
    out_ << std::endl;  // flushes, so that each row is seen at once
}

}  // namespace sinew::bench
