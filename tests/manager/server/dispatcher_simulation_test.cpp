// SPDX-License-Identifier: Apache-2.0
// Simulates the dispatcher with clients that call, give up, come and leave, and messages that
// overtake each other.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "src/base/text.hpp"
#include "src/manager/server/dispatcher.hpp"

namespace sinew::manager {
namespace {

class World {
public:
    explicit World(std::uint64_t seed) : random_(seed) {}

    void chaos(int steps) {
        for (int i = 0; i < steps; ++i) step();
    }
    /// No new calls; all calls in flight must end.
    void calm() {
        while (!messages_.empty()) deliver(messages_.size());
        while (begin() || end()) continue;
        expect(dispatcher_.waiting() == 0, "calls wait, and nothing runs");
        for (auto const& [number, each] : calls_)
            expect(each.ran || each.dropped || each.orphan, text("call ", number, " is lost"));
        for (auto const& [id, object] : objects_)
            expect(object.destroyed == object.holders.empty(),
                   text("object ", id, object.destroyed ? " was destroyed" : " is left over"));
    }

private:
    struct Sent {
        Client client;
        ObjectId object;
        std::uint64_t sequence, number;
        bool skip;
    };
    struct Known {
        Client client = 0;
        ObjectId object = 0;
        bool oneway = false, ran = false, dropped = false, orphan = false;
    };
    struct Object {
        unsigned parallel = 1, running = 0;
        bool destroyed = false;
        std::set<Client> holders;
        std::map<Client, std::uint64_t> rows, executed;
    };

    static void expect(bool holds, std::string const& words) {
        if (!holds) throw std::logic_error(words);
    }
    std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
    bool once_in(std::uint64_t times) { return below(times) == 0; }

    void step() {
        switch (below(12)) {
            case 0:
                return make();
            case 1:
            case 2:
            case 3:
            case 4:
                return call();
            case 5:
            case 6:
                return deliver(4);
            case 7:
            case 8:
                static_cast<void>(begin());
                return;
            case 9:
            case 10:
                static_cast<void>(end());
                return;
            default:
                return misfortune();
        }
    }
    void make() {
        if (objects_.size() >= 6) return;
        auto const client = clients_[below(clients_.size())];
        auto const parallel = static_cast<unsigned>(1 + below(3));
        Call making;
        making.makes = true;
        making.client = client;
        making.number = ++numbers_;
        auto const id = dispatcher_.add(parallel, "type", std::move(making));
        auto& object = objects_[id];
        object.parallel = parallel;
        object.holders = {client};
        auto& known = calls_[numbers_];
        known.client = client;
        known.object = id;
    }
    void call() {
        if (objects_.empty()) return;
        auto& [id, object] =
            *std::next(objects_.begin(), static_cast<std::ptrdiff_t>(below(objects_.size())));
        if (object.holders.empty()) return;
        auto const client = *std::next(object.holders.begin(),
                                       static_cast<std::ptrdiff_t>(below(object.holders.size())));
        bool const skip = once_in(10);
        auto const sequence = ++object.rows[client];
        messages_.push_back({client, id, sequence, ++numbers_, skip});
        if (!skip) calls_[numbers_] = {client, id, once_in(3)};
    }
    // Delivers one of the oldest messages, so that messages overtake each other.
    void deliver(std::size_t among) {
        if (messages_.empty()) return;
        auto const at = messages_.begin() +
                        static_cast<std::ptrdiff_t>(below(std::min(among, messages_.size())));
        auto const message = *at;
        messages_.erase(at);
        if (message.skip) return dispatcher_.skip(message.object, message.client, message.sequence);
        Call call;
        call.client = message.client;
        call.number = message.number;
        call.oneway = calls_[message.number].oneway;
        bool const there = dispatcher_.arrive(message.object, message.sequence, std::move(call));
        if (there) return;
        expect(objects_[message.object].destroyed, "an object is gone");
        calls_[message.number].dropped = true;
    }
    bool begin() {
        auto work = dispatcher_.take();
        if (!work) return false;
        auto& object = objects_.at(work->object);
        if (work->calls == nullptr) {
            expect(object.running == 0, "destroyed while it runs");
            expect(object.holders.empty(), "destroyed though it is held");
            object.destroyed = true;
            return true;
        }
        expect(!object.destroyed, "it runs after its end");
        expect(++object.running <= object.parallel, "more at a time than allowed");
        running_.push_back(*work);
        run(running_.back(), 5);
        return true;
    }
    // Executes some calls in order; those that have not begun may be dropped.
    void run(Work const& work, std::uint64_t stop_once_in) {
        auto& object = objects_.at(work.object);
        for (std::size_t i = 0; i < work.calls->size(); ++i) {
            if (stop_once_in > 0 && once_in(stop_once_in)) return;
            if (!work.calls->claim(i)) continue;
            auto const& each = (*work.calls)[i];
            if (each.notice != ObjectEvent::none) continue;
            auto& known = calls_.at(each.number);
            expect(!known.ran, text("call ", each.number, " runs twice"));
            expect(!known.dropped, text("call ", each.number, " was dropped, and runs"));
            // Numbers of calls increase with time, also when sequences start again.
            auto const before = std::exchange(object.executed[each.client], each.number);
            expect(each.makes || object.parallel > 1 || before < each.number, "out of order");
            known.ran = true;
        }
    }
    bool end() {
        if (running_.empty()) return false;
        auto const at = running_.begin() + static_cast<std::ptrdiff_t>(below(running_.size()));
        auto const work = *at;
        running_.erase(at);
        run(work, 0);
        --objects_.at(work.object).running;
        expect(dispatcher_.finished(work, std::make_shared<int>(0)).empty(),
               "something is given back");
        return true;
    }
    void misfortune() {
        if (calls_.empty()) return;
        auto const client = clients_[below(clients_.size())];
        if (once_in(20)) return lose(client);
        auto& chosen =
            *std::next(calls_.begin(), static_cast<std::ptrdiff_t>(below(calls_.size())));
        auto const number = chosen.first;
        auto& known = chosen.second;
        if (once_in(2)) {
            if (dispatcher_.cancel(known.object, known.client, number)) {
                expect(!known.ran && !known.dropped, "cancelled after its end");
                known.dropped = true;
            }
        } else {
            hold_or_release(client, known.object);
        }
    }
    // Only when all its calls have arrived, as messages between two processes ensure.
    void hold_or_release(Client client, ObjectId id) {
        auto const under_way = [&](Sent const& each) {
            return each.client == client && each.object == id;
        };
        if (std::any_of(messages_.begin(), messages_.end(), under_way)) return;
        auto& object = objects_.at(id);
        if (once_in(2)) {
            if (!dispatcher_.hold(id, client)) return expect(object.destroyed, "an object is gone");
            object.holders.insert(client);
        } else {
            dispatcher_.release(id, client);
            object.holders.erase(client);
        }
        object.rows.erase(client);
    }
    // Its calls may be executed or not.
    void lose(Client client) {
        dispatcher_.lost(client);
        std::erase_if(messages_, [client](Sent const& each) { return each.client == client; });
        for (auto& [number, known] : calls_)
            if (known.client == client) known.orphan = true;
        for (auto& [id, object] : objects_) object.holders.erase(client);
        std::replace(clients_.begin(), clients_.end(), client, ++last_client_);
    }

    std::mt19937_64 random_;
    Dispatcher dispatcher_;
    std::vector<Client> clients_{1, 2, 3};
    Client last_client_ = 3;
    std::uint64_t numbers_ = 0;
    std::vector<Sent> messages_;
    std::map<std::uint64_t, Known> calls_;
    std::map<ObjectId, Object> objects_;
    std::vector<Work> running_;
};

/// Describes the failure of the simulation with this seed; empty if there was none.
std::string trouble_of(std::uint64_t seed) {
    try {
        World world(seed);
        world.chaos(2000);
        world.calm();
        return {};
    } catch (std::exception const& error) {
        return error.what();
    }
}

TEST(ManagerSimulation, EveryCallRunsInItsTurnOnceOrIsToldNotTo) {
    auto const* const given = std::getenv("SINEW_TEST_SEED");
    std::uint64_t const first = given != nullptr ? std::strtoull(given, nullptr, 10) : 1;
    std::uint64_t const count = given != nullptr ? 1 : 2000;
    for (auto seed = first; seed < first + count; ++seed)
        ASSERT_EQ(trouble_of(seed), "")
            << "seed " << seed << "; SINEW_TEST_SEED=" << seed << " runs it alone";
}

}  // namespace
}  // namespace sinew::manager
