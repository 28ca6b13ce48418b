// SPDX-License-Identifier: Apache-2.0
#include "launchers/blackbox/divergence.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sinew/error.hpp>
#include <sstream>

#include "launchers/blackbox/report.hpp"
#include "launchers/cli/doctor.hpp"
#include "src/base/text.hpp"
#include "tests/support/message_of.hpp"
#include "tests/support/temp_folder.hpp"

namespace sinew::launch {
namespace {

using Kind = CommunicatorFindings::Kind;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing_support::message_of;

struct Called {
    std::uint64_t sequence;
    std::string call;
};

/// A rank of a world of `size` that has entered these calls, and may be inside the last one.
BlackBoxFile box(int rank, int size, std::vector<Called> const& calls, bool inside,
                 std::string const& name = "world") {
    BlackBoxFile file;
    file.rank = rank;
    file.size = size;
    file.host = text("node-", rank);
    file.written = 20'000'000'000;
    RecordedCommunicator one;
    one.name = name;
    one.rank = rank;
    for (int r = 0; r < size; ++r) one.hosts.push_back(text("node-", r));
    for (auto const& called : calls)
        one.operations.push_back(
            {called.sequence, called.call, false, std::int64_t(called.sequence) * 1'000'000'000});
    one.entered = calls.empty() ? 0 : calls.back().sequence;
    one.inside = inside;
    if (inside) one.operations.back().running = true;
    file.communicators.push_back(std::move(one));
    return file;
}

std::string report(std::vector<BlackBoxFile> const& files) {
    std::ostringstream out;
    write_text(files, compare_black_boxes(files), out);
    return out.str();
}

TEST(Divergence, OfRanksThatAgreeIsNone) {
    std::vector<BlackBoxFile> const files{box(0, 2, {{1, "barrier()"}}, false),
                                          box(1, 2, {{1, "barrier()"}}, false)};
    auto const findings = compare_black_boxes(files);
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].kind, Kind::agree);
    EXPECT_FALSE(has_divergence(findings));
    EXPECT_THAT(report(files), HasSubstr("world (2 ranks): no difference up to #1 barrier()"));
    EXPECT_THAT(report({box(0, 1, {}, false)}), HasSubstr("no collective yet"));
}

TEST(Divergence, NamesTheRankThatIsBehind) {
    std::vector<BlackBoxFile> const files{
        box(0, 4, {{1, "barrier()"}, {2, "allreduce(f32 x 9, sum)"}}, true),
        box(1, 4, {{1, "barrier()"}}, false),
        box(2, 4, {{1, "barrier()"}, {2, "allreduce(f32 x 9, sum)"}}, true), box(3, 4, {}, false)};
    auto const findings = compare_black_boxes(files);
    EXPECT_EQ(findings[0].kind, Kind::behind);
    EXPECT_EQ(findings[0].sequence, 2u);
    EXPECT_THAT(findings[0].with.ranks, ElementsAre(0, 2));
    EXPECT_EQ(findings[0].behind.size(), 2u);
    EXPECT_THAT(report(files),
                AllOf(HasSubstr("ranks 0, 2 entered #2 allreduce(f32 x 9, sum) for 18.0 s"),
                      HasSubstr("rank 1 on node-1: last was in #1 barrier()"),
                      HasSubstr("rank 3 on node-3: no collective yet")));
}

TEST(Divergence, IsTheFirstOtherCallAlthoughLaterOnesMatch) {
    std::vector<BlackBoxFile> const files{
        box(0, 3, {{1, "barrier()"}, {2, "allreduce(f32 x 9, sum)"}, {3, "barrier()"}}, true),
        box(1, 3, {{1, "barrier()"}, {2, "broadcast(f32 x 9, root 0)"}, {3, "barrier()"}}, true),
        box(2, 3, {{1, "barrier()"}, {2, "allreduce(f32 x 9, sum)"}}, true)};
    auto const findings = compare_black_boxes(files);
    EXPECT_EQ(findings[0].kind, Kind::disagree);
    EXPECT_EQ(findings[0].sequence, 2u);
    EXPECT_THAT(findings[0].with.ranks, ElementsAre(0, 2));
    ASSERT_EQ(findings[0].others.size(), 1u);
    EXPECT_THAT(findings[0].others[0].ranks, ElementsAre(1));
    EXPECT_THAT(report(files), AllOf(HasSubstr("not the same call as #2"),
                                     HasSubstr("ranks 0, 2: allreduce(f32 x 9, sum)"),
                                     HasSubstr("rank 1 on node-1: broadcast(f32 x 9, root 0)")));
}

TEST(Divergence, SaysWhoHasWrittenNothing) {
    std::vector<BlackBoxFile> const files{box(0, 4, {{1, "barrier()"}}, true),
                                          box(3, 4, {{1, "barrier()"}}, true)};
    auto const findings = compare_black_boxes(files);
    EXPECT_EQ(findings[0].kind, Kind::stuck);
    EXPECT_THAT(findings[0].unknown, ElementsAre(1, 2));
    EXPECT_THAT(report(files), AllOf(HasSubstr("2 of 4 ranks have written a black box"),
                                     HasSubstr("ranks 1-2: no black box"),
                                     HasSubstr("all that are known are in #1 barrier()")));
}

TEST(Divergence, ComparesOnlyWhatAllHave) {
    std::vector<BlackBoxFile> const files{
        box(0, 2, {{5, "barrier()"}, {6, "barrier()"}}, true),
        box(1, 2, {{3, "allreduce(f32 x 1, sum)"}, {4, "barrier()"}, {5, "barrier()"}}, false)};
    auto const findings = compare_black_boxes(files);
    EXPECT_EQ(findings[0].kind, Kind::behind);
    EXPECT_FALSE(findings[0].compared_all);
    EXPECT_THAT(report(files), HasSubstr("the beginning is lost"));
}

TEST(Divergence, PutsTheCommunicatorThatDivergedFirstAtTheTop) {
    auto late = box(0, 2, {{9, "barrier()"}}, true, "world"), early = box(1, 2, {}, false, "world");
    auto const part = [&](BlackBoxFile& file, BlackBoxFile from) {
        file.communicators.push_back(from.communicators.front());
    };
    part(late, box(0, 2, {{2, "barrier()"}}, true, "world/1.0"));
    part(early, box(1, 2, {}, false, "world/1.0"));
    auto const findings = compare_black_boxes({late, early});
    EXPECT_EQ(findings[0].name, "world/1.0");
    EXPECT_EQ(findings[1].name, "world");
}

char const* const valid = R"({"schema":"sinew-black-box-1","rank":1,"size":2,"host":"b","pid":7,
"written":99,"reason":"Timeout","communicators":[{"name":"world","rank":1,"hosts":["a","b"],
"entered":2,"inside":true,"operations":[
{"sequence":1,"operation":"barrier","state":"left","entered":null,"left":null},
{"sequence":2,"operation":"broadcast","type":"f32","count":3,"root":1,"state":"running","entered":5,
"left":null}]}]})";

TEST(Recorded, IsParsed) {
    auto const file = parse_black_box(valid, "f");
    EXPECT_EQ(file.rank, 1);
    EXPECT_EQ(file.reason, "Timeout");
    ASSERT_EQ(file.communicators.size(), 1u);
    auto const& operations = file.communicators[0].operations;
    ASSERT_EQ(operations.size(), 2u);
    EXPECT_EQ(operations[0].call, "barrier()");
    EXPECT_FALSE(operations[0].entered);
    EXPECT_EQ(operations[1].call, "broadcast(f32 x 3, root 1)");
    EXPECT_TRUE(operations[1].running);
    EXPECT_EQ(operations[1].entered, 5);
}

TEST(Recorded, ThatIsNoBlackBoxIsRefusedByName) {
    auto const refusal = [](std::string const& contents) {
        return message_of<UsageError>([&] { parse_black_box(contents, "dir/rank-3.json"); });
    };
    auto const with = [](std::string const& from, std::string const& to) {
        std::string changed = valid;
        changed.replace(changed.find(from), from.size(), to);
        return changed;
    };
    for (std::string const& contents :
         {std::string(), std::string("{}"), std::string("[1]"), with("box-1", "box-2"),
          with("\"rank\":1,\"hosts\"", "\"rank\":2,\"hosts\""),
          with("\"sequence\":2", "\"sequence\":1"), with("\"sequence\":2", "\"sequence\":-1e99"),
          std::string(valid).substr(0, 200)})
        EXPECT_THAT(refusal(contents), HasSubstr("dir/rank-3.json: ")) << contents;
}

TEST(DoctorOfBlackBoxes, ReadsAFolder) {
    testing_support::TempFolder folder;
    std::ofstream(folder.path() / "rank-1.json") << valid;
    std::ofstream(folder.path() / "other.json") << "x";
    std::ostringstream out, err;
    EXPECT_EQ(doctor_main({"--blackbox", folder.path()}, out, err), 1);
    EXPECT_THAT(out.str(), HasSubstr("rank 1 on b: Timeout"));
    std::ostringstream json;
    EXPECT_EQ(doctor_main({"--blackbox", folder.path(), "--json"}, json, err), 1);
    auto const parsed = nlohmann::json::parse(json.str());
    EXPECT_EQ(parsed["communicators"][0]["finding"], "stuck");
    EXPECT_EQ(parsed["communicators"][0]["without_black_box"], nlohmann::json::array({0}));
    EXPECT_EQ(err.str(), "");
    EXPECT_EQ(doctor_main({"--blackbox", folder.path() / "none"}, out, err), 2);
    EXPECT_THAT(err.str(), HasSubstr("--blackbox"));
    EXPECT_EQ(doctor_main({"--blackbox", folder.path(), "-H", "a"}, out, err), 2);
}

}  // namespace
}  // namespace sinew::launch
