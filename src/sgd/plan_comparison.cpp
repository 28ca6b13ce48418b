// SPDX-License-Identifier: Apache-2.0
#include "src/sgd/plan_comparison.hpp"

#include <algorithm>
#include <cstdint>

#include "src/base/text.hpp"
#include "src/sgd/agreement.hpp"
#include "src/sgd/bucket_plan.hpp"
#include "src/sgd/content_hash.hpp"

namespace sinew::sgd {

namespace {

/// Finds the first difference between this rank's tensors and those of rank 0. All ranks throw, each
/// with what it found, or with who else is different.
void throw_difference(Communicator& comm, std::vector<Gradient> const& gradients,
                      std::uint64_t options, std::chrono::nanoseconds timeout,
                      std::vector<Notice> const& notices) {
    std::vector<std::uint64_t> mine{options};
    for (Gradient const& gradient : gradients) mine.push_back(hash_of(gradient));
    std::uint64_t count = mine.size();
    comm.broadcast(std::span(&count, 1), 0, {.timeout = timeout});
    std::vector<std::uint64_t> first = mine;
    first.resize(count);
    comm.broadcast(first, 0, {.timeout = timeout});
    std::string const end =
        ". Tensors and options must be equal, and in the same order, on all ranks";
    auto const [here, there] = std::mismatch(mine.begin(), mine.end(), first.begin(), first.end());
    auto const at = static_cast<std::size_t>(here - mine.begin());
    std::string const ranks =
        text("GradientBuckets: ", rank_text(comm, comm.rank()), " and ", rank_text(comm, 0));
    if (here != mine.begin() && there != first.end() && here != mine.end())
        throw UsageError(text(ranks, " have different tensors ", at - 1, " (here ",
                              tensor_text(gradients, at - 1), ")", end));
    if (here == mine.begin()) throw UsageError(text(ranks, " have different options", end));
    if (here != mine.end() || there != first.end())
        throw UsageError(
            text(ranks, " have ", mine.size() - 1, " and ", count - 1, " tensors", end));
    for (int rank = 0; rank < comm.size(); ++rank)
        if (notices[static_cast<std::size_t>(rank)].value != notices.front().value)
            throw UsageError(text("GradientBuckets: ", rank_text(comm, rank), " and ",
                                  rank_text(comm, 0), " differ. The error of rank ", rank,
                                  " says in what", end));
}

}  // namespace

bool compare_plans(Communicator& comm, std::vector<Gradient> const& gradients,
                   GradientOptions const& options, std::uint64_t more, bool on_gpu,
                   std::exception_ptr const& refusal) {
    ContentHash hash;
    for (Gradient const& gradient : gradients) hash.add(hash_of(gradient));
    std::uint64_t const all_options = ContentHash().add(hash_of(options)).add(more).value();
    hash.add(all_options);
    auto const made = on_gpu ? Notice::Kind::on_gpu : Notice::Kind::made;
    Notice const own = refusal ? Notice{.kind = Notice::Kind::refused}
                               : Notice{.kind = made, .value = hash.value()};
    auto const notices = exchange(comm, own, options.timeout);
    if (refusal) std::rethrow_exception(refusal);
    for (int rank = 0; rank < comm.size(); ++rank)
        if (notices[static_cast<std::size_t>(rank)].kind == Notice::Kind::refused)
            throw UsageError(text("GradientBuckets: ", rank_text(comm, rank),
                                  " refused its tensors or options. Its own error says why"));
    for (Notice const& notice : notices)
        if (notice.value != notices.front().value)
            throw_difference(comm, gradients, all_options, options.timeout, notices);
    return std::ranges::all_of(
        notices, [](Notice const& notice) { return notice.kind == Notice::Kind::on_gpu; });
}

}  // namespace sinew::sgd
