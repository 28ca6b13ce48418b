// SPDX-License-Identifier: Apache-2.0
//
// A file with any contents is refused as no black box, or can be compared with itself and reported.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string_view>

#include <sinew/error.hpp>

#include "launchers/blackbox/report.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    using namespace sinew::launch;
    // The beginning is always right, so that the fuzzer spends its time on the rest.
    static constexpr std::string_view beginning =
        R"({"schema":"sinew-black-box-1","rank":0,"size":2,"host":"a","written":9,"reason":"",)"
        R"("communicators":[{"name":"world","rank":0,"hosts":["a","b"],"entered":1,"inside":true,)";
    std::string_view const rest(reinterpret_cast<char const*>(data), size);
    for (std::string_view const before : {std::string_view(), beginning}) {
        try {
            auto const file =
                parse_black_box(std::string(before) + std::string(rest), "rank-0.json");
            auto const findings = compare_black_boxes({file, file});
            std::ostringstream out;
            write_text({file}, findings, out);
            write_json({file}, findings, out);
            if (out.str().empty()) std::abort();
        } catch (sinew::UsageError const&) {}
    }
    return 0;
}
