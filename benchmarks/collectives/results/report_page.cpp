// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/collectives/results/report_page.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "benchmarks/collectives/results/plot.hpp"
#include "benchmarks/support/gnuplot.hpp"
#include "benchmarks/support/program.hpp"
#include "benchmarks/support/sizes.hpp"
#include "benchmarks/support/text.hpp"

namespace sinew::bench {

namespace {

constexpr char const* introduction = R"(# Performance

This page is written by `./dev bench --report` from the JSON of the runs that it shows. To repeat it on your machine:
`./dev bench --report --preset full`.

**Ratio** is the peer's time divided by ours: above 1, sinew is faster. Both are timed in one process on the same buffers, in blocks that
alternate, with a barrier between them that belongs to neither; the slowest rank's time counts, and a ratio is the median of the
ratios of the rounds. Results are checked before and after timing.

Every ratio is of one **variant**: *reused* leaves the buffers untouched between calls, as the OSU benchmarks do, which flatters algorithms
that need not move what is still in a cache; *live* lets each rank write its input and read its output in between, outside the timing.

The **best peer** is the one with the lowest ratio in its row, of all that were measured: `openmpi` is Open MPI as it is installed,
`openmpi:NAME` one of its algorithms or components, forced. The **state** says how near the cores of ranks 0 and 1 are (round trip of a
cache line below 220 ns, or above): virtual processors move, and figures of different states must not be compared. Where both were
seen, the ratios of each are given.

**Of limit** is the least time that the machine allows, divided by ours. With a processor for each rank it is the time in which two ranks pass
each other the bytes that they must give and get, with nothing around it, in the fastest way known: through buffers in shared memory,
or by the kernel (`process_vm_readv`). That is timed beside the calls, in alternation; a call that overlaps steps of it may take a little less (above 1).
In shared memory it is that of copying what a rank must read and write; of an allreduce the time of threads of one process, one on each processor, that
add the vectors of all ranks and store the sums to all results, measured at the beginning of the same run. With more ranks than processors it
is what was measured then, too: every input read once and every output written once at the rate of copying as much, or of an allreduce the time of threads
that have the vectors of all ranks; and the context switches that a call cannot do without (one more in live calls, in which the rank that begins first must
run again when the others have begun).
)";

std::string short_us(double us) { return fixed(us, us < 100 ? 2 : us < 10'000 ? 1 : 0); }

std::string ranks_text(RunInfo const& run) {
    std::string words = text(run.ranks, run.ranks == 1 ? " rank" : " ranks");
    if (run.nodes > 1) words += text(" on ", run.nodes, " nodes");
    if (run.oversubscribed) words += text(" on ", run.limits.processors, " processors");
    if (run.own_sessions) words += ", each in a session of its own";
    if (run.zero_copy) words += ", buffers in shared memory";
    return words;
}

std::string slug(RunInfo const& run) {
    std::string words = text(run.ranks, "-ranks");
    if (run.nodes > 1) words += text('-', run.nodes, "-nodes");
    if (run.own_sessions) words += "-own-sessions";
    if (run.zero_copy) words += "-zero-copy";
    return words;
}

PeerResult const* find_peer(std::vector<PeerResult> const& peers, std::string const& name) {
    auto const is = [&](PeerResult const& peer) { return peer.name == name; };
    auto const found = std::find_if(peers.begin(), peers.end(), is);
    return found == peers.end() ? nullptr : &*found;
}

/// The MPI library as it is; without one, the first peer that is not one of many.
std::string usual_peer(std::vector<Row> const& rows) {
    for (char const* library : {"openmpi", "mpich", "mpi"})
        for (Row const& row : rows)
            if (find_peer(row.peers, library) != nullptr) return library;
    for (Row const& row : rows)
        for (PeerResult const& peer : row.peers)
            if (peer.name.find(':') == std::string::npos) return peer.name;
    return {};
}

std::string ratio_cell(PeerResult const* peer, bool with_name) {
    if (peer == nullptr) return "-";
    return with_name ? text(fixed(peer->ratio, 2), " (", peer->name, ')') : fixed(peer->ratio, 2);
}

using Choice = std::function<PeerResult const*(std::vector<PeerResult> const&)>;

/// The ratio to the peer that `choose` returns; "near 2.10, far 3.30" where a row has both.
std::string ratio_by_state(Row const& row, Choice const& choose, bool with_name) {
    std::vector<std::string> parts;
    for (StateResult const& state : row.by_state)
        if (PeerResult const* const peer = choose(state.peers))
            if (state.state != "mixed")
                parts.push_back(text(state.state, ' ', ratio_cell(peer, with_name)));
    if (row.state == "mixed" && !parts.empty()) return join(parts);
    return ratio_cell(choose(row.peers), with_name);
}

struct Line {
    std::map<std::string, Row const*> by_variant;
};

std::string table(std::vector<Row const*> const& rows, std::vector<std::string> const& variants,
                  std::string const& usual) {
    std::map<std::tuple<std::size_t, std::string, std::string>, Line> lines;
    for (Row const* row : rows) {
        Line& line = lines[{row->bytes, row->dtype, row->op}];
        line.by_variant.emplace(row->variant, row);  // of several algorithms, the first
    }
    Choice const of_usual = [&](std::vector<PeerResult> const& peers) {
        return find_peer(peers, usual);
    };
    std::string words = "| size | type | algorithm |", rule = "|---|---|---|";
    for (std::string const& variant : variants) {
        words += text(' ', variant, ": us | ", usual.empty() ? "peer" : usual,
                      " | best peer | of limit | state |");
        rule += "---|---|---|---|---|";
    }
    words += '\n' + rule + '\n';
    for (auto const& [key, line] : lines) {
        auto const& [bytes, dtype, op] = key;
        Row const& any = *line.by_variant.begin()->second;
        words += text("| ", bytes == 0 ? "-" : format_size(bytes), " | ",
                      op == "none" ? dtype : dtype + ' ' + op, " | ",
                      any.algorithm.starts_with("auto:") ? any.algorithm.substr(5) : any.algorithm,
                      " |");
        for (std::string const& variant : variants) {
            auto const found = line.by_variant.find(variant);
            if (found == line.by_variant.end()) {
                words += " - | - | - | - | - |";
                continue;
            }
            Row const& row = *found->second;
            auto const limit = row.of_limit();
            words += text(' ', short_us(row.us.p50), " | ", ratio_by_state(row, of_usual, false),
                          " | ", ratio_by_state(row, best_peer, true), " | ",
                          limit ? fixed(*limit, 2) : "-", " | ", row.state, " |");
        }
        words += '\n';
    }
    return words;
}

std::string limits_text(RunInfo const& run) {
    if (run.limits.copies.empty()) return {};
    std::string words = text("\nLimits, measured in this run: ", run.limits.processors,
                             run.limits.processors == 1 ? " processor copies" : " processors copy");
    std::vector<std::string> rates;
    for (CopyRate const& rate : run.limits.copies)
        rates.push_back(text(fixed(rate.gbs, 0), " GB/s of ", format_size(rate.footprint),
                             " per processor (", rate.way, ')'));
    words += ' ' + join(rates) + ", read and written";
    if (run.limits.context_switch_ns > 0)
        words +=
            text("; a context switch takes ", fixed(run.limits.context_switch_ns * 1e-3, 2), " us");
    words += ".\n";
    for (bool const live : {false, true}) {
        std::vector<std::string> sums;
        for (SumTime const& time : run.limits.sums)
            if (!live || time.live_us != time.us)
                sums.push_back(text(fixed(live ? time.live_us : time.us, 2), " us for ",
                                    format_size(time.bytes)));
        if (!sums.empty())
            words += text("\nThreads of one process on ", run.limits.processors,
                          " processors sum the vectors of all ranks", live ? ", just written," : "",
                          " and store the results in ", join(sums), ".\n");
    }
    return words;
}

/// The median one-way transfer of a cache line by state.
std::string transfers_text(std::vector<Row> const& rows) {
    std::map<std::string, std::vector<double>> by_state;
    for (Row const& row : rows)
        if (row.one_way_ns) by_state[row.state].push_back(*row.one_way_ns);
    std::vector<std::string> parts;
    for (auto const& [state, values] : by_state)
        parts.push_back(text(fixed(median(values), 0), " ns (", state, ')'));
    if (parts.empty()) return {};
    return text("\nA cache line goes from one core to the other in ", join(parts), ".\n");
}

std::string section(Results const& run, std::vector<PagePlot> const& plots) {
    std::string words =
        text("\n## ", ranks_text(run.run), "\n\n", run.run.machine, "; ", run.run.date, "; sinew ",
             run.run.version, " over ", run.run.transport);
    if (!run.run.mpi.empty()) words += text(", ", run.run.mpi, " at ", thread_level(run.run));
    words += text("; ranks meet between blocks by ", run.run.barrier, ".\n");
    words += limits_text(run.run) + transfers_text(run.rows);
    for (PagePlot const& plot : plots) words += text("\n![", plot.caption, "](", plot.file, ")\n");
    std::vector<std::string> order, variants;
    std::map<std::string, std::vector<Row const*>> by_collective;
    for (Row const& row : run.rows) {
        if (by_collective[row.collective].empty()) order.push_back(row.collective);
        by_collective[row.collective].push_back(&row);
        if (std::find(variants.begin(), variants.end(), row.variant) == variants.end())
            variants.push_back(row.variant);
    }
    std::string const usual = usual_peer(run.rows);
    for (std::string const& collective : order)
        words += text("\n### ", collective, ", ", ranks_text(run.run), "\n\n",
                      table(by_collective[collective], variants, usual));
    return words;
}

/// The rows of one collective, with the usual peer and the best one alone.
std::vector<Row> simplified(std::vector<Row> const& rows, std::string const& collective) {
    std::string const usual = usual_peer(rows);
    std::vector<Row> chosen;
    for (Row row : rows) {
        if (row.collective != collective || row.dtype != rows.front().dtype) continue;
        std::vector<PeerResult> peers;
        if (PeerResult const* const peer = find_peer(row.peers, usual)) peers.push_back(*peer);
        if (PeerResult const* const best = best_peer(row.peers); best && row.peers.size() > 1) {
            peers.push_back(*best);
            peers.back().name = "best peer";
        }
        row.peers = std::move(peers);
        chosen.push_back(std::move(row));
    }
    return chosen;
}

std::string overview_script(Results const& run, std::string const& variant,
                            std::string const& path) {
    Curves curves;
    std::map<std::size_t, std::string> marks;
    for (Row const& row : run.rows) {
        PeerResult const* const best = best_peer(row.peers);
        if (row.bytes == 0 || best == nullptr || row.variant != variant) continue;
        marks.emplace(row.bytes, format_size(row.bytes));
        curves[row.collective] += text(row.bytes, ' ', best->ratio, '\n');
    }
    if (curves.empty()) return {};
    std::string const title =
        text("ratio to the best peer, ", ranks_text(run.run), ", variant ", variant);
    return plot_head(path, 500) + marked_x_axis(marks) +
           "set logscale y 2\nset xlabel 'bytes'\nset ylabel 'their time / ours'\nset title " +
           quoted(title) + " noenhanced\n" +
           plot_curves(curves, "ratio", "1 with lines dashtype 2 linecolor 'black' notitle");
}

}  // namespace

std::vector<PagePlot> report_plots(Results const& run, std::string const& folder,
                                   std::string const& stem) {
    std::vector<PagePlot> plots;
    auto const place = [&](std::string const& file) {
        return (std::filesystem::path(folder) / file).string();
    };
    auto const allreduce = simplified(run.rows, "allreduce");
    if (!allreduce.empty()) {
        std::string const file = stem + "-allreduce.svg";
        plots.push_back({file,
                         text("allreduce, ", ranks_text(run.run), ": time and ratio over size"),
                         plot_script(allreduce, place(file))});
    }
    std::string const file = stem + "-all.svg", variant = run.rows.back().variant;
    auto script = overview_script(run, variant, place(file));
    if (!script.empty())
        plots.push_back({file,
                         text("all collectives, ", ranks_text(run.run),
                              ": ratio to the best peer over size, variant ", variant),
                         std::move(script)});
    return plots;
}

std::string report_text(std::vector<Results> const& runs,
                        std::vector<std::vector<PagePlot>> const& plots) {
    std::string words = introduction;
    for (std::size_t i = 0; i < runs.size(); ++i) words += section(runs[i], plots[i]);
    return words;
}

void write_report(std::vector<Results> const& runs, std::string const& path) {
    require_gnuplot();
    std::filesystem::path const page(path);
    std::set<std::string> stems;
    std::vector<std::vector<PagePlot>> plots;
    for (Results const& run : runs) {
        std::string stem = page.stem().string() + '-' + slug(run.run);
        while (!stems.insert(stem).second) stem += "-again";
        plots.push_back(report_plots(run, page.parent_path().string(), stem));
    }
    write_file(path, report_text(runs, plots));
    for (auto const& of_run : plots)
        for (PagePlot const& plot : of_run)
            draw(plot.script, (page.parent_path() / plot.file).string());
}

}  // namespace sinew::bench
