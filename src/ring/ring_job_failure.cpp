// SPDX-License-Identifier: Apache-2.0
// How a ring ends when a member has failed.
#include <algorithm>
#include <csignal>
#include <string>

#include "src/base/text.hpp"
#include "src/ring/ring_job.hpp"

namespace sinew::ring {
namespace {

using namespace std::chrono_literals;

/// What those in a collective have to hear of it (0.2 s after a death), to say so, and to leave.
constexpr auto notice = 500ms;
/// After SIGKILL; a process in the kernel's hands may take longer, and is left to it.
constexpr auto patience_with_the_dead = 10s;

double seconds(std::chrono::nanoseconds time) {
    return std::chrono::duration<double>(time).count();
}

std::string list(std::vector<int> const& ranks) {
    std::string words = ranks.size() == 1 ? "rank " : "ranks ";
    for (std::size_t i = 0; i < ranks.size(); ++i)
        words += text(i == 0 ? "" : i + 1 == ranks.size() ? " and " : ", ", ranks[i]);
    return words;
}

}  // namespace

std::string RingJob::rank_text(int rank) const {
    auto const& member = records_[static_cast<std::size_t>(rank)];
    return text("rank ", rank, " on ", member.host, " (pid ", member.pid, ")");
}

/// The first words of a member count: what comes after may be their consequence.
void RingJob::fail(int rank, std::string const& attribution) {
    auto& member = record(rank);
    if (member.failed == 0) {
        member.failed = ++failures_;
        member.attribution = attribution;
    }
    if (failing_) return;
    failing_ = true;
    commit_timer_ = {};
    end_others();
    changed_.notify_all();
}

void RingJob::end_others() {
    auto const kill = [this] {
        signal_all(SIGKILL);
        timer_ = runtime_.loop().after(patience_with_the_dead, [this] {
            given_up_ = true;
            changed_.notify_all();
        });
    };
    if (!met_) return kill();  // nothing of the program's own runs yet
    timer_ = runtime_.loop().after(notice, [this, kill] {
        signal_all(SIGTERM);
        timer_ = runtime_.loop().after(plan_.options.grace, kill);
    });
}

void RingJob::signal_all(int number) {
    for (std::size_t rank = 0; rank < children_.size(); ++rank) {
        if (!children_[rank] || records_[rank].ended) continue;
        records_[rank].signalled = true;
        children_[rank]->signal(number);
    }
}

void RingJob::attribute_absent() {
    for (int rank = 0; rank < plan_.size; ++rank)
        if (!record(rank).joined)
            fail(rank, text("has not joined within ", seconds(plan_.options.start_timeout),
                            " s, and was killed. Does something before sinew::init block? See "
                            "RingOptions::start_timeout"));
}

void RingJob::attribute_uncommitted(bool time_is_over) {
    auto const waiting = list(commits_.waiting());
    for (int const rank : commits_.missing()) {
        bool const left = record(rank).returned;
        if (!left && !time_is_over) continue;  // it may yet come
        fail(rank,
             text(left ? "returned without" : "has not come to", " commit ", commits_.count() + 1,
                  left ? std::string() : text(" within ", seconds(plan_.commit_timeout), " s"),
                  ", for which ", waiting, " waited. commit is collective",
                  left ? "" : ". SINEW_TIMEOUT sets the deadline"));
    }
}

// Of one member, as a ring fails by one.
void RingJob::attribute_folder() {
    fail(0, text("has made commit ", commits_.count() + 1, ", which ", plan_.options.folder,
                 " has not stored within ", seconds(plan_.commit_timeout),
                 " s. Does its disk answer? SINEW_TIMEOUT sets the deadline"));
}

void RingJob::attribute_remaining() {
    for (int rank = first_child(); rank < plan_.size; ++rank)
        if (!record(rank).ended)
            fail(rank,
                 "has not ended 30 s after its target had returned. Does a destructor of a "
                 "static object or an exit handler block?");
}

bool RingJob::over() const {
    if (!caller_over_) return false;
    if (given_up_) return true;
    if (!failing_ && !leaving_) return false;
    for (std::size_t rank = 0; rank < children_.size(); ++rank)
        if (children_[rank] && !records_[rank].ended) return false;
    return true;
}

}  // namespace sinew::ring
