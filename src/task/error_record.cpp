// SPDX-License-Identifier: Apache-2.0
#include <cxxabi.h>
#include <unistd.h>

#include <sinew/remote_error.hpp>
#include <sinew/task/encoding.hpp>
#include <system_error>

#include "src/base/system/this_host.hpp"
#include "src/base/text.hpp"
#include "src/task/demangle.hpp"

namespace sinew {

namespace {

void note_code(ErrorRecord& record, std::exception const& error) {
    if (auto const* system = dynamic_cast<std::system_error const*>(&error)) {
        record.category = system->code().category().name();
        record.code = system->code().value();
    } else if (auto const* ours = dynamic_cast<SystemError const*>(&error)) {
        record.code = ours->error_number();
    } else if (auto const* backend = dynamic_cast<BackendError const*>(&error)) {
        record.code = backend->code();
    }
}

/// Limits the causes in a record, because a chain built in a loop must not fill a message.
constexpr std::size_t most_causes = 32;

void note_causes(ErrorRecord& record, std::exception const& error) {
    if (record.causes.size() >= most_causes) return;
    try {
        std::rethrow_if_nested(error);
    } catch (std::exception const& cause) {
        record.causes.push_back({detail::exception_name(typeid(cause).name()), cause.what()});
        note_causes(record, cause);
    } catch (...) {
        record.causes.push_back(
            {detail::exception_name(abi::__cxa_current_exception_type()->name()), "unknown"});
    }
}

void describe_std(ErrorRecord& record, std::exception const& error) {
    record.type = detail::exception_name(typeid(error).name());
    record.what = error.what();
    note_code(record, error);
    note_causes(record, error);
}

void locate(ErrorRecord& record) {
    record.host = host_name();
    record.pid = ::getpid();
}

}  // namespace

ErrorRecord detail::describe(std::exception_ptr const& error) {
    ErrorRecord record;
    try {
        error ? std::rethrow_exception(error) : throw;
    } catch (RemoteException const& remote) {  // from a task's own task: keep the original
        auto const& original = remote.record();
        record.type = original.type;
        record.what = original.what;
        record.category = original.category;
        record.code = original.code;
        record.causes = original.causes;
    } catch (std::exception const& known) {
        describe_std(record, known);
    } catch (std::string const& words) {
        record.type = "std::string";
        record.what = words;
    } catch (char const* words) {
        record.type = "char const*";
        record.what = words;
    } catch (...) {
        record.type = exception_name(abi::__cxa_current_exception_type()->name());
        record.what = "unknown";
    }
    locate(record);
    return record;
}

std::string ErrorRecord::text() const {
    std::string where = function;
    auto const add = [&where](std::string const& part) {
        if (!where.empty()) where += ", ";
        where += part;
    };
    if (task != 0) add(sinew::text("task ", task));
    if (attempt > 1) add(sinew::text("attempt ", attempt));
    if (pid != 0) add(sinew::text("pid ", pid, " on ", host));
    if (!where.empty()) where += ": ";
    std::string all = sinew::text(where, type, ": ", what);
    char const* before = " (caused by ";
    for (Cause const& cause : causes) {
        all += sinew::text(before, cause.type, ": ", cause.what);
        before = "; ";
    }
    return causes.empty() ? all : all + ")";
}

void ErrorRecord::encode_to(Writer& writer) const {
    encode(writer, std::tie(type, what, category, code, function, host, pid, task, attempt));
    std::vector<std::pair<std::string, std::string>> pairs;
    for (Cause const& cause : causes) pairs.emplace_back(cause.type, cause.what);
    encode(writer, pairs);
}

ErrorRecord ErrorRecord::decode_from(Reader& reader) {
    ErrorRecord record;
    for (auto* words : {&record.type, &record.what, &record.category})
        *words = decode<std::string>(reader);
    record.code = decode<std::int32_t>(reader);
    record.function = decode<std::string>(reader);
    record.host = decode<std::string>(reader);
    record.pid = decode<pid_t>(reader);
    record.task = decode<std::uint64_t>(reader);
    record.attempt = decode<std::uint32_t>(reader);
    for (auto& [type, what] : decode<std::vector<std::pair<std::string, std::string>>>(reader))
        record.causes.push_back({std::move(type), std::move(what)});
    return record;
}

}  // namespace sinew
