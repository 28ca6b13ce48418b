// SPDX-License-Identifier: Apache-2.0
// `sinew run --dashboard`, and the page of a program's own pools, as a client sees them.
#include <gmock/gmock.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "src/base/text.hpp"
#include "tests/launchers/dashboard/http_client.hpp"
#include "tests/launchers/run/launched.hpp"
#include "tests/launchers/run/programs.hpp"
#include "tests/support/processes.hpp"

namespace sinew::testing_support {
namespace {

using nlohmann::json;
using namespace nlohmann::literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class DashboardOf : public RunTest {
protected:
    static DashboardAddress address_of(Launched const& job) {
        DashboardAddress found;
        EXPECT_TRUE(eventually([&] { return (found = DashboardAddress::in(job.err())).port != 0; }))
            << job.err();
        return found;
    }
    /// The state, once it is as wanted.
    static json state_of(DashboardAddress const& address,
                         std::function<bool(json const&)> const& wanted) {
        json state;
        EXPECT_TRUE(eventually(
            [&] {
                auto const body = address.get("/api");
                if (body.empty()) return false;
                state = json::parse(body);
                return wanted(state);
            },
            Seconds(30)))
            << state.dump();
        return state;
    }
    static bool all_run(json const& state, std::size_t ranks) {
        std::size_t running = 0;
        for (auto const& rank : state["ranks"]) running += rank["state"] == "running" ? 1 : 0;
        return running == ranks;
    }
};

TEST_F(DashboardOf, AJobTellsItsAddressOnceAndTheTokenToNobodyElse) {
    Launched job({"-n", "3", "--dashboard", "sleep", "1000"});
    auto const address = address_of(job);
    auto const state = state_of(address, [](json const& now) { return all_run(now, 3); });
    EXPECT_EQ(state["job"]["backend"], "local");
    EXPECT_THAT(state["job"]["command"], HasSubstr("sleep 1000"));
    for (auto const& each : descendants_of(job.pid())) {
        EXPECT_THAT(each.command, Not(HasSubstr(address.token)));
        for (auto const& [name, value] : environment_of(each.pid))
            EXPECT_THAT(value, Not(HasSubstr(address.token))) << name;
    }
    job.signal(SIGTERM);
    auto const end = job.wait();
    EXPECT_EQ(count_of(end.err, "dashboard: http://"), 1U);
    EXPECT_EQ(count_of(end.err + end.out, address.token), 1U);
}

TEST_F(DashboardOf, AJobShowsAKilledRankToTheEnd) {
    Launched job({"-n", "3", "--fake-nodes", "2,1", "--dashboard", "sleep", "1000"});
    auto const address = address_of(job);
    auto const state = state_of(address, [](json const& now) { return all_run(now, 3); });
    HttpClient reader(address.port);
    reader.send(address.request("/events"));
    reader.receive([](auto const& got) { return got.find("schema") != std::string::npos; });
    ::kill(state["ranks"][1]["pid"].get<pid_t>(), SIGKILL);
    auto const all = reader.receive();
    EXPECT_FALSE(reader.timed_out());
    EXPECT_THAT(all, testing::EndsWith("event: end\ndata: {}\n\n"));
    auto const at = all.rfind("data: {\"");
    ASSERT_NE(at, std::string::npos);
    auto const last = json::parse(all.substr(at + 6, all.find('\n', at) - at - 6));
    EXPECT_EQ(last["job"]["state"], "ended");
    EXPECT_EQ(last["job"]["exit_code"], 128 + SIGKILL);
    EXPECT_EQ(last["ranks"][1]["state"], "failed");
    EXPECT_EQ(last["ranks"][1]["detail"], "killed by signal 9 (Killed)");
    EXPECT_EQ(last["ranks"][0]["state"], "stopped");
    EXPECT_EQ(job.wait().code, 128 + SIGKILL);
}

TEST_F(DashboardOf, AJobShowsItsCollectivesAndPools) {
    Launched job({"-n", "4", "--fake-nodes", "2,2", "--dashboard",
                  std::getenv("SINEW_TEST_DASHBOARD_PROGRAM"), "1000"});
    auto const address = address_of(job);
    auto const state = state_of(address, [](json const& now) {
        if (now["pools"].empty() || now["ranks"].size() != 4) return false;
        auto const& pool = now["pools"][0];
        return pool["done"] > 100 && pool["rate"] > 0 && !pool["losses"].empty() &&
               now["ranks"][1].contains("collective") &&
               now["ranks"][3].value("/collective/operation"_json_pointer, "") ==
                   "allreduce(f32 x 1048576, average)";
    });
    auto const& pool = state["pools"][0];
    EXPECT_EQ(pool["rank"], 0);
    EXPECT_EQ(pool["pid"], state["ranks"][0]["pid"]);
    EXPECT_THAT(pool["losses"][0]["why"], HasSubstr("killed by signal 9"));
    EXPECT_EQ(pool["losses"][0]["tasks"][0],
              json({{"failed", false}, {"function", "simulate"}, {"index", 1500}}));
    EXPECT_THAT(address.get("/metrics"), HasSubstr(text("sinew_pool_workers{pool=\"",
                                                        pool["id"].get<std::string>(), "\"} 4")));
    job.signal(SIGTERM);
    job.wait();
    leaks.folders_may_stay();  // of the program, which was ended by a signal
}

TEST_F(DashboardOf, AProgramWithPoolsEndsWithIt) {
    for (bool const killed : {false, true}) {
        Launched program(
            {}, {.env = {{"SINEW_DASHBOARD", "1"},
                         {"SINEW_COMMAND", std::getenv("SINEW_TEST_COMMAND")}},
                 .command = {std::getenv("SINEW_TEST_DASHBOARD_PROGRAM"), killed ? "1000" : "3"}});
        auto const address = address_of(program);
        auto const state = state_of(address, [](json const& now) {
            return !now["pools"].empty() && now["pools"][0]["done"] > 10;
        });
        EXPECT_EQ(state["pools"][0]["pid"], program.pid());
        EXPECT_TRUE(state["pools"][0]["rank"].is_null());
        EXPECT_EQ(state["job"]["name"], "dashboard_program");
        if (killed) program.signal(SIGKILL);
        EXPECT_EQ(program.wait().code, killed ? 128 + SIGKILL : 0);
        EXPECT_TRUE(eventually([&] { return !HttpClient(address.port).connected(); }))
            << "its page is still there";
    }
    leaks.folders_may_stay();
}

TEST_F(DashboardOf, AProgramWithoutTheCommandDoesWithoutIt) {
    auto const end =
        run({}, {.env = {{"SINEW_DASHBOARD", "1"}, {"SINEW_COMMAND", "/nowhere/sinew"}},
                 .command = {std::getenv("SINEW_TEST_DASHBOARD_PROGRAM"), "0"}});
    EXPECT_EQ(end.code, 0);
    auto const wrong = run({}, {.env = {{"SINEW_DASHBOARD", "70000"},
                                        {"SINEW_COMMAND", std::getenv("SINEW_TEST_COMMAND")}},
                                .command = {std::getenv("SINEW_TEST_DASHBOARD_PROGRAM"), "1"}});
    EXPECT_EQ(wrong.code, 0);
    EXPECT_THAT(wrong.err, HasSubstr("SINEW_DASHBOARD=70000 (must be"));
}

TEST_F(DashboardOf, AJobIsRefusedWhereThereCanBeNone) {
    auto const port = run({"-n", "1", "--dashboard=70000", "true"});
    EXPECT_EQ(port.code, 2);
    EXPECT_THAT(port.err,
                AllOf(HasSubstr("--dashboard=70000"), HasSubstr("a port from 2 to 65535")));
    Launched first({"-n", "1", "--dashboard", "sleep", "1000"});
    auto const taken = address_of(first).port;
    auto const second = run({"-n", "1", text("--dashboard=", taken), "true"});
    EXPECT_NE(second.code, 0);
    EXPECT_THAT(second.err, HasSubstr(text("the dashboard cannot listen at port ", taken)));
    first.signal(SIGTERM);
    first.wait();
}

}  // namespace
}  // namespace sinew::testing_support
