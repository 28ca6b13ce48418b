// SPDX-License-Identifier: Apache-2.0
//
// A worker may send any bytes as an exception: they are refused, or become an exception with the
// contents of the record.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include <sinew/remote_error.hpp>
#include <sinew/task/encoding.hpp>

namespace {

using namespace sinew;

void expect(bool holds) {
    if (!holds) std::abort();
}

void check(ErrorRecord const& record) {
    try {
        std::rethrow_exception(detail::revive(record));
    } catch (TaskError const& error) {
        expect(error.what() == std::string(record.text().c_str()));
    } catch (std::exception const& error) {
        expect(error.what() == std::string(record.what.c_str()));
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    Reader reader(std::as_bytes(std::span(data, size)));
    ErrorRecord record;
    try {
        record = decode<ErrorRecord>(reader);
    } catch (DecodeError const&) {
        // The type matters most here, and random bytes hardly spell one.
        record.type = size % 2 == 0 ? "std::system_error" : "std::out_of_range";
        record.what = record.category = std::string(reinterpret_cast<char const*>(data), size);
        record.code = static_cast<std::int32_t>(size);
    }
    check(record);
    Writer writer;
    encode(writer, record);
    Reader again(writer.bytes());
    expect(decode<ErrorRecord>(again).text() == record.text() && again.left() == 0);
    return 0;
}
