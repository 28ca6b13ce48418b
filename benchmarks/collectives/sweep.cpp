// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/collectives/sweep.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <set>
#include <sinew/error.hpp>
#include <sinew/version.hpp>
#include <utility>

#include "benchmarks/collectives/bandwidth.hpp"
#include "benchmarks/collectives/ours.hpp"
#include "benchmarks/collectives/values.hpp"
#include "benchmarks/peers/mpi_peer.hpp"
#include "benchmarks/peers/mpi_session.hpp"
#include "benchmarks/support/machine/context_switch.hpp"
#include "benchmarks/support/machine/copy_rate.hpp"
#include "benchmarks/support/sizes.hpp"
#include "benchmarks/support/text.hpp"

namespace sinew::bench {

namespace {

/// Before the algorithm of a call whose non-blocking form is timed.
std::string const nonblocking_prefix = "i:";

}  // namespace

Sweep::Sweep(Communicator& comm, Options const& options, Listener listener)
    : comm_(comm), options_(options), listener_(std::move(listener)),
      peers_(make_peers(options.peers, comm, listener_.note)),
      processors_(look_up_processors(comm)), page_(comm, 1 + FlagBarrier::lines(comm.size())),
      probe_(comm, page_, 0, processors_.oversubscribed),
      barrier_(comm, page_, 1, processors_.oversubscribed),
      bare_(comm, processors_.oversubscribed, [this] { sync(); }),
      pinned_(options.pin ? processors_.own : std::nullopt), progress_(comm.rank() == 0),
      timing_(
          comm, probe_, options, [this] { sync(); },
          [this](int round) {
              progress_.show(text(doing_, ", round ", round + 1, " of at most ", options_.rounds));
          }),
      info_(describe()) {}

void Sweep::sync() {
    if (page_.everywhere()) barrier_.wait();
    else comm_.barrier();
}

RunInfo Sweep::describe() {
    std::string const transport(comm_.transport().name());
    RunInfo info{.version = std::string(version()),
                 .date = date_text(),
                 .machine = machine_text(),
                 .ranks = comm_.size(),
                 .nodes = comm_.nodes().nodes(),
                 .transport = transport,
                 .mpi = transport == "mpi" ? mpi_version() : std::string(),
                 .mpi_thread = transport == "mpi" ? mpi_thread_level() : std::string(),
                 .barrier = page_.everywhere() ? "flags in shared memory" : "sinew's barrier",
                 .own_sessions = options_.own_session,
                 .zero_copy = options_.zero_copy,
                 .oversubscribed = processors_.oversubscribed};
    if (info.nodes > 1 || comm_.size() == 1) return info;  // the limit is that of memory
    info.limits.processors = std::min(processors_.on_machine, comm_.size());
    info.limits.copies = measure_copy_rates(comm_, info.limits.processors, [this] { sync(); });
    bool const sums = std::count(options_.collectives.begin(), options_.collectives.end(),
                                 Collective::allreduce) > 0;
    if (sums && (processors_.oversubscribed || options_.zero_copy))
        info.limits.sums =
            measure_sum_times(comm_, info.limits.processors,
                              options_.zero_copy ? VectorMemory::shared : VectorMemory::apart,
                              *std::max_element(options_.sizes.begin(), options_.sizes.end()));
    double switching = 0;
    if (processors_.oversubscribed && comm_.rank() == 0) switching = measure_context_switch();
    info.limits.context_switch_ns = comm_.allreduce_value(switching, max);
    return info;
}

std::vector<std::string> Sweep::algorithms(Collective collective) const {
    std::vector<std::string> names;
    for (std::string const& name : options_.algorithms) {
        if (name != "all") {
            names.push_back(name);
        } else {
            auto const all = algorithm_names(collective);
            names.insert(names.end(), all.begin(), all.end());
        }
    }
    return names;
}

void Sweep::run() {
    for (Collective const collective : options_.collectives) {
        for (DataType const type : options_.types) {
            for (ReduceOp const& op : options_.ops) {
                if (is_reduction(collective) && !op.accepts(type))
                    listener_.note(text(name(collective), ": ", op.name(), " of ", type.name(),
                                        " left out (not defined)"));
                else run_call(collective, type, op);
                if (!is_reduction(collective)) break;  // the operation makes no difference
            }
            if (collective == Collective::barrier) break;
        }
    }
}

void Sweep::run_call(Collective collective, DataType type, ReduceOp const& op) {
    bool const sized = collective != Collective::barrier;
    for (Variant const variant : options_.variants) {
        std::set<std::size_t> done;  // two sizes may be rounded to the same count
        for (std::size_t const bytes : sized ? options_.sizes : std::vector<std::size_t>{0}) {
            Problem const problem = Problem::of(collective, type, op, bytes, comm_);
            if (done.insert(problem.count).second) measure(problem, variant);
        }
    }
}

// All ranks fail together if one has no memory; the others would otherwise wait for it.
Workload Sweep::allocate(Problem const& problem) {
    std::unique_ptr<Workload> load;
    try {
        load = options_.zero_copy ? std::make_unique<Workload>(problem, comm_)
                                  : std::make_unique<Workload>(problem);
    } catch (std::bad_alloc const&) {  // reported below
    }
    if (comm_.allreduce_value(load ? 1 : 0, min) == 0)
        throw SystemError(text("no memory for ", format_size(problem.bytes()), " of ",
                               name(problem.collective), " on every rank. Ask for smaller --sizes"),
                          ENOMEM);
    return std::move(*load);
}

void Sweep::measure(Problem const& problem, Variant variant) {
    doing_ =
        text(name(problem.collective), ' ', problem.type.name(), ' ', format_size(problem.bytes()));
    progress_.show(doing_);
    Workload const load = allocate(problem);
    auto running = contenders(load);
    if (std::none_of(running.begin(), running.end(), [](Contender const& c) { return c.ours; }))
        return;

    std::vector<std::function<void()>> calls;
    auto const ours = static_cast<std::size_t>(
        std::count_if(running.begin(), running.end(), [](Contender const& c) { return c.ours; }));
    for (Contender const& contender : running) calls.push_back(contender.call);
    std::optional<std::size_t> bare;
    if (auto const call = bare_.fastest(load, variant, options_.zero_copy)) {
        bare = calls.size();
        calls.push_back(*call);
    }
    Measured const measured = timing_.measure(calls, ours, load, variant);
    bool const works = bare_.works();
    if (!works) bare.reset();
    if (std::exchange(limits_, works) && !works)
        listener_.note(text(doing_,
                            ": no limits from here on (a rank did not run for 0.1 s while "
                            "another one waited for it)"));
    check_after(running, load);
    report(problem, variant, running, measured, bare);
}

/// Returns sinew's applicable algorithms, and the peers that support the call and pass checks.
std::vector<Sweep::Contender> Sweep::contenders(Workload const& load) {
    std::vector<Contender> taking_part;
    for (std::string const& algorithm : algorithms(load.problem().collective)) {
        for (bool const nonblocking : {false, true}) {
            if (nonblocking && !options_.nonblocking) continue;
            Contender ours{(nonblocking ? nonblocking_prefix : "") + algorithm, true,
                           bind_ours(comm_, load, algorithm, nonblocking)};
            try {
                ours.wrong = wrong_after(ours, load);
                taking_part.push_back(ours);
            } catch (UsageError const& problem) {  // thrown on all ranks, before anything is sent
                if (algorithm == "auto") throw;
                listener_.note(text(doing_, ": left out (", problem.what(), ")"));
            }
        }
    }
    for (auto const& peer : peers_)
        for (PeerCall& each : peer->bind(load)) {
            Contender theirs{each.name, false, std::move(each.call)};
            try {
                theirs.wrong = wrong_after(theirs, load);
            } catch (BackendError const& problem) {  // on all ranks
                listener_.note(
                    text(doing_, ": peer ", theirs.name, " left out (", problem.what(), ")"));
                continue;
            }
            if (theirs.wrong == 0) taking_part.push_back(theirs);
            else
                listener_.note(text(doing_, ": peer ", theirs.name, " left out (", theirs.wrong,
                                    " elements wrong)"));
        }
    return taking_part;
}

/// Checks all contenders again. A peer whose results are wrong under load is not compared with.
void Sweep::check_after(std::vector<Contender>& contenders, Workload const& load) {
    for (Contender& contender : contenders) {
        contender.wrong = std::max(contender.wrong, wrong_after(contender, load));
        if (!contender.ours && contender.wrong > 0)
            listener_.note(text(doing_, ": peer ", contender.name, " left out (", contender.wrong,
                                " elements wrong after timing)"));
    }
}

/// Makes one call on fresh buffers. Returns the number of wrong elements over all ranks.
std::size_t Sweep::wrong_after(Contender const& contender, Workload const& load) {
    if (!options_.check) {
        contender.call();
        return 0;
    }
    Values const values(load.problem());
    values.prepare(load);
    contender.call();
    return comm_.allreduce_value(static_cast<std::uint64_t>(values.wrong(load)), sum);
}

double Sweep::fraction_of_link(Problem const& problem, double us) const {
    double const bits =
        8 * link_factor(problem.collective, comm_.nodes()) * static_cast<double>(problem.bytes());
    return bits / options_.link_rate / (us * 1e-6);
}

/// Returns "auto:ring" for "auto": the request and the tuner's choice.
std::string Sweep::used(std::string const& asked, Problem const& problem) const {
    if (asked.starts_with(nonblocking_prefix))
        return nonblocking_prefix + used(asked.substr(nonblocking_prefix.size()), problem);
    if (asked != "auto") return asked;
    return text("auto:",
                comm_.algorithm_for(problem.collective, problem.bytes(), problem.type, problem.op));
}

void Sweep::report(Problem const& problem, Variant variant,
                   std::vector<Contender> const& contenders, Measured const& measured,
                   std::optional<std::size_t> bare) {
    std::vector<std::size_t> peers;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < contenders.size(); ++i) {
        names.push_back(contenders[i].name);
        if (!contenders[i].ours && contenders[i].wrong == 0) peers.push_back(i);
    }
    for (std::size_t i = 0; i < contenders.size() && contenders[i].ours; ++i) {
        Row row{.collective = std::string(name(problem.collective)),
                .bytes = problem.bytes(),
                .ranks = comm_.size(),
                .nodes = comm_.nodes().nodes(),
                .dtype = problem.type.name(),
                .op = is_reduction(problem.collective) ? problem.op.name() : "none",
                .algorithm = used(names[i], problem),
                .variant = std::string(name(variant))};
        summarize(measured, i, peers, names, bare, row);
        row.algbw_gbs = algorithm_bandwidth(row.bytes, row.us.p50);
        row.busbw_gbs = row.algbw_gbs * bus_factor(problem.collective, comm_.size());
        if (options_.check) row.wrong = contenders[i].wrong;
        if (info_.nodes == 1 && !bare && limits_)
            row.limit_us =
                least_us(problem.collective, comm_.size(), row.bytes, variant, info_.limits,
                         row.one_way_ns.value_or(std::numeric_limits<double>::infinity()));
        if (options_.link_rate > 0) {
            row.fraction_of_link = fraction_of_link(problem, row.us.p50);
            for (PeerResult& peer : row.peers)
                peer.fraction_of_link = fraction_of_link(problem, peer.us.p50);
        }
        wrong_ += contenders[i].wrong;
        ++rows_;
        progress_.clear();
        listener_.row(row);
    }
}

}  // namespace sinew::bench
