// SPDX-License-Identifier: Apache-2.0
//
// What a worker sends of an exception may be anything: it is refused, or comes back as an exception
// that has what the record says.
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
        // Its type is what matters most here, and bytes at random hardly spell one.
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
