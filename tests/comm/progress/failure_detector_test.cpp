// SPDX-License-Identifier: Apache-2.0
// What a rank receives from peers that die while they send a notice.
#include "src/comm/progress/failure_detector.hpp"

#include <csignal>

#include "src/comm/node_layout.hpp"
#include "src/transport/socket_frame.hpp"
#include "src/transport/socket_transport.hpp"
#include "src/transport/thread_transport.hpp"
#include "tests/comm/ranks.hpp"
#include "tests/support/child.hpp"
#include "tests/support/forwarding_transport.hpp"
#include "tests/support/socket_job.hpp"

namespace sinew::tests {
namespace {

using testing::HasSubstr;
using testing_support::Child;
using testing_support::SocketJob;

using Clock = std::chrono::steady_clock;

constexpr int notice_tag = 1, other_tag = 7;

detail::OperationLog log_of(int ranks, int self) {
    return {"test", self, std::vector<std::string>(static_cast<std::size_t>(ranks), "here")};
}

NodeLayout layout_of_one_node(int ranks, int self) {
    std::vector<NodeIdentity> const here(static_cast<std::size_t>(ranks),
                                         NodeIdentity::named("here", "here"));
    return detail::make_node_layout(here, self);
}

/// Fills the receive window of its peer and gives up; the notice can then be announced only.
int announce_a_notice(SocketJob& job) {
    SocketTransport self(job.mesh(1));
    std::vector<std::byte> const eager(detail::eager_bytes);
    std::vector<Transport::Ticket> sends;
    for (std::size_t bytes = eager.size(); bytes > 0; bytes /= 2)  // down to the last gap
        for (std::size_t i = 0; i <= (bytes == eager.size() ? detail::window_bytes / bytes : 1);
             ++i)
            sends.push_back(self.start_send(0, other_tag, std::span(eager).first(bytes)));
    NodeLayout const nodes = layout_of_one_node(2, 1);
    detail::OperationLog const log = log_of(2, 1);
    detail::FailureDetector watch(self, nodes, notice_tag, log);
    watch.give_up("out of patience");
    for (;;) {  // until it is killed
        self.probe(any_source, other_tag);
        std::this_thread::sleep_for(1ms);
    }
}

TEST(FailureDetector, DoesNotWaitForANoticeWhoseSenderDiedBeforeItWasFetched) {
    SocketJob job({0, 0});
    Child child([&] { return announce_a_notice(job); });
    SocketTransport self(job.mesh(0));
    NodeLayout const nodes = layout_of_one_node(2, 0);
    detail::OperationLog const log = log_of(2, 0);
    detail::FailureDetector watch(self, nodes, notice_tag, log);
    // The notice has been announced, and cannot be fetched from a dead process.
    wait_until([&] { return self.probe(1, notice_tag).has_value(); });
    child.kill(SIGKILL);
    child.wait();
    std::optional<std::string> trouble;
    wait_until([&] {
        watch.poll();  // regression: this call did not return
        return (trouble = watch.trouble()).has_value();
    });
    EXPECT_THAT(*trouble, HasSubstr("rank 1 on here has died"));
    EXPECT_FALSE(self.probe(1, notice_tag));
}

/// A transport on which messages of rank `mute` are found by probe, but their bytes never arrive: a
/// link that was cut within a message.
class CutLink final : public testing_support::ForwardingTransport {
public:
    CutLink(ThreadHub& hub, int rank, int mute)
        : ForwardingTransport(std::make_unique<ThreadTransport>(hub, rank)), mute_(mute) {}
    Ticket start_receive(int from, int tag, std::span<std::byte> bytes) override {
        if (from != mute_) return ForwardingTransport::start_receive(from, tag, bytes);
        // Removes the message, as reading its header does, and never completes.
        lost_.resize(probe(from, tag)->bytes);
        auto taken = ForwardingTransport::start_receive(from, tag, lost_);
        EXPECT_TRUE(ForwardingTransport::test(taken, nullptr));
        return {never};
    }
    bool test(Ticket& ticket, Received* received) override {
        return ticket.handle != never && ForwardingTransport::test(ticket, received);
    }
    void cancel(Ticket& ticket) noexcept override {
        if (ticket.handle != never) ForwardingTransport::cancel(ticket);
        ticket = {};
    }

private:
    static constexpr std::uint64_t never = ~std::uint64_t{0};
    int mute_;
    std::vector<std::byte> lost_;
};

TEST(FailureDetector, HearsTheOthersBehindANoticeThatNeverArrives) {
    ThreadHub hub(3);
    CutLink zero(hub, 0, 1);
    ThreadTransport one(hub, 1), two(hub, 2);
    NodeLayout const nodes = layout_of_one_node(3, 0);
    detail::OperationLog const log = log_of(3, 0);
    detail::FailureDetector at_zero(zero, nodes, notice_tag, log),
        at_one(one, nodes, notice_tag, log), at_two(two, nodes, notice_tag, log);
    at_one.give_up("never heard");
    at_two.give_up("of its own");
    wait_until([&] {
        at_zero.poll();
        return at_zero.trouble().has_value();
    });
    EXPECT_THAT(*at_zero.trouble(), HasSubstr("rank 2 on here gave up: of its own"));
}

// A process that gives up often ends. That it has ended is then no cause.
TEST(FailureDetector, NamesWhyARankGaveUpThatDiedLater) {
    SocketJob job({0, 0});
    Child child([&]() -> int {
        SocketTransport self(job.mesh(1));
        NodeLayout const nodes = layout_of_one_node(2, 1);
        detail::OperationLog const log = log_of(2, 1);
        detail::FailureDetector watch(self, nodes, notice_tag, log);
        watch.give_up("out of patience");
        for (;;) watch.poll();  // until it is killed
    });
    SocketTransport self(job.mesh(0));
    NodeLayout const nodes = layout_of_one_node(2, 0);
    detail::OperationLog const log = log_of(2, 0);
    detail::FailureDetector watch(self, nodes, notice_tag, log);
    auto const poll_until = [&](auto condition) {
        wait_until([&] {
            watch.poll();
            return condition();
        });
    };
    poll_until([&] { return watch.trouble().has_value(); });
    child.kill(SIGKILL);
    child.wait();
    poll_until([&] { return !self.lost().empty(); });
    auto const end = Clock::now() + 300ms;  // longer than messages of the dead are waited for
    poll_until([&] { return Clock::now() > end; });
    EXPECT_EQ(watch.trouble(), "rank 1 on here gave up: out of patience");
}

}  // namespace
}  // namespace sinew::tests
