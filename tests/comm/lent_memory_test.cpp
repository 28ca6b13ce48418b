// SPDX-License-Identifier: Apache-2.0
// Memory of the library that is in use by a transfer when an operation fails: if the medium cannot
// cancel a send, as MPI, the memory must stay readable until the process ends.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <mutex>

#include "src/base/system/unique_fd.hpp"
#include "src/comm/join.hpp"
#include "src/transport/thread_transport.hpp"
#include "tests/comm/ranks.hpp"
#include "tests/support/forwarding_transport.hpp"

namespace sinew::tests {
namespace {

/// Memory that was lent to sends that were cancelled.
class LentMemory {
public:
    void add(std::span<std::byte const> bytes) {
        std::lock_guard const lock(mutex_);
        spans_.push_back(bytes);
    }
    std::size_t count() {
        std::lock_guard const lock(mutex_);
        return spans_.size();
    }
    /// Asks the kernel, which refuses to read unmapped memory.
    bool is_readable() {
        std::lock_guard const lock(mutex_);
        std::array<int, 2> ends{};
        if (::pipe2(ends.data(), O_NONBLOCK) != 0) return false;
        UniqueFd const reader(ends[0]), writer(ends[1]);
        for (auto const bytes : spans_)
            for (std::size_t at : {std::size_t{0}, bytes.size() / 2, bytes.size() - 1})
                if (::write(writer.get(), bytes.data() + at, 1) != 1) return false;
        return true;
    }

private:
    std::mutex mutex_;
    std::vector<std::span<std::byte const>> spans_;
};

/// Like MPI: a send that has not matched its receive cannot be cancelled, and continues later.
class LingeringTransport final : public testing_support::ForwardingTransport {
public:
    LingeringTransport(ThreadHub& hub, int rank, LentMemory& lent)
        : ForwardingTransport(std::make_unique<ThreadTransport>(hub, rank)), lent_(lent) {}
    Ticket start_send(int to, int tag, std::span<std::byte const> bytes) override {
        Ticket const ticket = ForwardingTransport::start_send(to, tag, bytes);
        if (ticket) sends_.emplace_back(ticket.handle, bytes);
        return ticket;
    }
    void cancel(Ticket& ticket) noexcept override {
        for (auto const& [handle, bytes] : sends_)
            if (handle == ticket.handle) {
                lent_.add(bytes);
                lingers_ = true;
            }
        ForwardingTransport::cancel(ticket);
    }
    bool holds_cancelled_buffers() const noexcept override { return lingers_; }

private:
    LentMemory& lent_;
    std::vector<std::pair<std::uint64_t, std::span<std::byte const>>> sends_;
    bool lingers_ = false;
};

/// Two ranks, of which only this one makes the call: a sum of `count` halves. They are added in
/// scratch memory of twice the size, which is sent.
void expect_scratch_outlives_a_failure(std::size_t count) {
    Variable const unchecked("SINEW_CHECK", "0");
    LentMemory lent;
    {
        ThreadHub hub(2);
        Leaving leaving(1);
        auto const rank = [&](int self, auto const& body) {
            Communicator comm(detail::join(std::make_unique<LingeringTransport>(hub, self, lent),
                                           detail::Engine::make(Threading::any),
                                           NodeIdentity::named("here", "here"),
                                           detail::CommonSettings::from_environment()));
            body(comm);
        };
        std::jthread const other(
            [&] { rank(1, [&](Communicator&) { leaving.wait_for_others(); }); });
        rank(0, [&](Communicator& comm) {
            std::vector<float16> data(count);
            loss_seen_by([&] {
                comm.allreduce(data, sum, {.algorithm = "recursive_doubling", .timeout = 300ms});
            });
            EXPECT_GT(lent.count(), 0U);
            EXPECT_TRUE(lent.is_readable()) << "freed when the operation had failed";
        });
        leaving.one_is_through();
    }
    EXPECT_TRUE(lent.is_readable()) << "freed with the communicator";
}

TEST(LentMemory, OfALargeSumIsNotFreedAfterItsFailure) {
    expect_scratch_outlives_a_failure(std::size_t{20} << 20);
}

TEST(LentMemory, OfASumIsNotFreedWithItsCommunicator) {
    expect_scratch_outlives_a_failure(std::size_t{10} << 20);
}

}  // namespace
}  // namespace sinew::tests
