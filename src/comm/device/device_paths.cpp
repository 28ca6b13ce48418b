// SPDX-License-Identifier: Apache-2.0
#include "src/comm/device/device_paths.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <sinew/error.hpp>

#include "collectives/nccl/diagnosis.hpp"
#include "src/base/env.hpp"
#include "src/base/log.hpp"
#include "src/base/text.hpp"
#include "src/comm/share.hpp"

namespace sinew::detail {

namespace nccl = collectives::nccl;
using namespace std::chrono_literals;

namespace {

/// Waits for something that other ranks do, too, and that has a deadline of its own: the policy's is
/// not counted, but a rank that dies ends the wait. Returns false at the deadline.
template <class Condition>
bool wait_for(ProgressPolicy& policy, std::chrono::nanoseconds longest,
              Condition const& condition) {
    auto const until = std::chrono::steady_clock::now() + longest;
    for (;;) {
        if (condition()) return true;
        if (std::chrono::steady_clock::now() > until) return false;
        policy.idle(0, -1, 0, 0);
        std::this_thread::sleep_for(200us);
    }
}

/// Reads SINEW_NCCL; sets `why` if it has no meaning.
nccl::RankFacts::Wish wish_for_nccl(std::string& why) {
    using Wish = nccl::RankFacts::Wish;
    try {
        if (!env("SINEW_NCCL")) return Wish::any;
        return env_flag("SINEW_NCCL", true) ? Wish::required : Wish::off;
    } catch (UsageError const& error) {
        why = error.what();
        return Wish::required;
    }
}

nccl::Library const* find_library(std::string& why) {
    try {
        return &nccl::Library::of_process();
    } catch (Unavailable const& error) {
        why = error.what();
        return nullptr;
    }
}

nccl::Outcome outcome_of(nccl::Communicator const& communicator, bool settled) {
    nccl::Outcome outcome;
    if (!settled) outcome.state = nccl::Outcome::State::stuck;
    auto const failure = communicator.failure();
    if (!failure) return outcome;
    outcome.state = nccl::Outcome::State::failed;
    std::string words;
    try {
        std::rethrow_exception(failure);
    } catch (BackendError const& error) {
        outcome.code = error.code();
        words = error.what();
    } catch (std::exception const& error) {
        words = error.what();
    }
    if (auto const warnings = nccl::captured_warnings(); !warnings.empty())
        words += " (NCCL's warnings: " + warnings + ')';
    words.copy(outcome.words, sizeof(outcome.words) - 1);
    return outcome;
}

void warn_once(std::string const& message) {
    static std::atomic<bool> warned{false};
    if (!warned.exchange(true)) log_warning(message);
}

}  // namespace

DevicePaths::DevicePaths(DeviceCall const& call, FailureDetector* detector, std::string const& self)
    : context_(call.call.device->context), staged_(*call.call.device->driver, context_) {
    if (call.call.device->captured)
        throw UsageError(text(call.what,
                              ": the first call on the memory of a GPU connects the ranks, "
                              "so it cannot be captured in a graph. Make one before"));
    start_nccl(call, detector, self);
}

void DevicePaths::start_nccl(DeviceCall const& call, FailureDetector* detector,
                             std::string const& self) {
    collectives::Channel& channel = call.channel;
    auto const size = static_cast<std::size_t>(channel.size());
    auto const rank = static_cast<std::size_t>(channel.rank());
    DeviceSide const& side = *call.call.device;
    // What is wrong on one rank only must not keep it from telling the others.
    std::string why;
    nccl::RankFacts::Wish const wish = wish_for_nccl(why);
    bool const off = wish == nccl::RankFacts::Wish::off;
    nccl::Library const* const library = off || !why.empty() ? nullptr : find_library(why);

    struct Start {
        nccl::RankFacts facts;
        nccl::UniqueId id;  // rank 0's counts
    };
    std::vector<Start> starts(size);
    if (library != nullptr && rank == 0) {
        int const result = library->call().get_unique_id(&starts[0].id);
        if (result != nccl::success) why = "ncclGetUniqueId: " + library->words(result, nullptr);
    }
    starts[rank].facts =
        nccl::RankFacts::of(why.empty() ? library : nullptr, why, *side.driver, side.context);
    starts[rank].facts.wish = wish;
    share(channel, starts);

    std::vector<nccl::RankFacts> facts;
    for (Start const& start : starts) facts.push_back(start.facts);
    std::string problem = nccl::obstacle(facts);
    if (problem.empty()) {
        nccl_ = std::make_unique<NcclPath>(
            nccl::Communicator::Setup{
                .library = library,
                .driver = side.driver,
                .context = side.context,
                .id = starts[0].id,
                .rank = channel.rank(),
                .ranks = channel.size(),
                .self = self,
                .ending = std::min<std::chrono::nanoseconds>(10s, call.deadlines.silent)},
            detector);
        nccl::Communicator& communicator = nccl_->communicator();
        // A rank whose start has failed at once waits below for the others, as long as `silent`: those must come
        // before.
        bool const settled = wait_for(call.policy, call.deadlines.silent / 4 * 3, [&] {
            return communicator.state() != nccl::Communicator::State::connecting;
        });
        std::vector<nccl::Outcome> outcomes(size);
        outcomes[rank] = outcome_of(communicator, settled);
        if (!settled)
            communicator.lose(std::make_exception_ptr(
                Timeout(text(call.what, ": NCCL's initialisation took too long"))));
        share(channel, outcomes);
        problem = nccl::explain_failed_start(facts, outcomes);
    }
    if (problem.empty()) {
        description_ = text("NCCL ", library->version_text(), " (", library->path(), ')');
        return;
    }
    if (nccl_) nccl_->communicator().lose(std::make_exception_ptr(Unavailable(problem)));
    nccl_ = nullptr;
    bool const required = std::any_of(facts.begin(), facts.end(), [](nccl::RankFacts const& one) {
        return one.wish == nccl::RankFacts::Wish::required;
    });
    if (required)
        throw Unavailable(
            text(call.what, ": NCCL cannot be used, and SINEW_NCCL=1 asks for it: ", problem));
    description_ = text("through host memory, because NCCL cannot be used: ", problem);
    bool const wanted = std::all_of(facts.begin(), facts.end(), [](nccl::RankFacts const& one) {
        return one.wish != nccl::RankFacts::Wish::off;
    });
    if (rank == 0 && size > 1 && wanted)
        warn_once(text(self,
                       ": data in the memory of GPUs passes through host memory, which is slow, "
                       "because NCCL cannot be used: ",
                       problem, ". SINEW_NCCL=0 silences this"));
}

void DevicePaths::run(DeviceCall const& call) {
    auto const& options = call.call.options;
    if (call.call.device->context != context_ && call.call.device->pointer != 0)
        throw UsageError(text(call.what,
                              ": the buffers are on another GPU than those of the first call. "
                              "A communicator belongs to one GPU; make one for each (dup)"));
    bool const takes = nccl_ && nccl_->takes(call.call);
    if (options.algorithm == "nccl" && !takes)
        throw UsageError(text(call.what, ": NCCL cannot perform it (",
                              nccl_ ? "it has no such operation" : description_,
                              "). Leave the choice to sinew"));
    if (takes && (options.algorithm.empty() || options.algorithm == "nccl"))
        return nccl_->run(call);
    Invocation staged = call.call;
    if (options.algorithm == "staged") staged.options.algorithm = {};
    staged_.run({staged, call.channel, call.policy, call.deadlines, call.what, call.on_host});
}

std::exception_ptr DevicePaths::failure() const {
    return nccl_ ? nccl_->communicator().failure() : nullptr;
}

void DevicePaths::lose(std::exception_ptr reason) noexcept try {
    if (nccl_) nccl_->communicator().lose(std::move(reason));
    staged_.retain();
} catch (std::exception const& error) {
    log_warning(text("while ending NCCL's communicator: ", error.what()));
}

}  // namespace sinew::detail
