// SPDX-License-Identifier: Apache-2.0
#include "launchers/blackbox/recorded.hpp"

#include <algorithm>
#include <climits>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sinew/error.hpp>
#include <system_error>
#include <type_traits>

#include "launchers/common/flat_json.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// A process with 1,000 communicators of 4,096 operations writes about 600 MB; nobody wants more.
constexpr std::uintmax_t largest_file = std::uintmax_t{1} << 30;

/// nlohmann converts any number to any other, which is undefined for what does not fit.
template <class Integer>
Integer whole(json const& from) {
    if (!from.is_number_integer() || (std::is_unsigned_v<Integer> && !from.is_number_unsigned()))
        throw UsageError(text(from.dump(), " where a whole number is expected"));
    if (std::is_same_v<Integer, int> &&
        (from.get<std::int64_t>() < INT_MIN || from.get<std::int64_t>() > INT_MAX))
        throw UsageError(text(from.dump(), " is too large"));
    return from.get<Integer>();
}

std::string call_text(json const& operation) {
    std::string words = text(operation.at("operation").get<std::string>(), '(');
    if (operation.contains("type")) {
        words += operation.at("type").get<std::string>();
        if (auto const count = whole<std::uint64_t>(operation.at("count")); count > 0)
            words += text(" x ", count);
        if (operation.contains("device")) words += " on a GPU";
    }
    if (operation.contains("reduce")) words += ", " + operation.at("reduce").get<std::string>();
    if (operation.contains("root")) words += text(", root ", whole<int>(operation.at("root")));
    return words + ')';
}

RecordedOperation parse_operation(json const& from) {
    RecordedOperation operation;
    operation.sequence = whole<std::uint64_t>(from.at("sequence"));
    operation.call = call_text(from);
    operation.running = from.at("state").get<std::string>() == "running";
    if (auto const& entered = from.at("entered"); !entered.is_null())
        operation.entered = whole<std::int64_t>(entered);
    return operation;
}

RecordedCommunicator parse_communicator(json const& from) {
    RecordedCommunicator communicator;
    communicator.name = from.at("name").get<std::string>();
    communicator.rank = whole<int>(from.at("rank"));
    communicator.hosts = from.at("hosts").get<std::vector<std::string>>();
    communicator.entered = whole<std::uint64_t>(from.at("entered"));
    communicator.inside = from.at("inside").get<bool>();
    if (communicator.rank < 0 ||
        static_cast<std::size_t>(communicator.rank) >= communicator.hosts.size())
        throw UsageError(text("rank ", communicator.rank, " of ", communicator.hosts.size(),
                              " in communicator ", communicator.name));
    for (json const& one : from.at("operations")) {
        auto operation = parse_operation(one);
        auto& known = communicator.operations;
        if (!known.empty() && operation.sequence <= known.back().sequence)
            throw UsageError(text("operation #", operation.sequence, " after #",
                                  known.back().sequence, " in communicator ", communicator.name));
        known.push_back(std::move(operation));
    }
    return communicator;
}

std::string contents_of(fs::path const& path) {
    std::error_code error;
    auto const size = fs::file_size(path, error);
    if (!error && size > largest_file)
        throw UsageError(text(path.string(), ": ", size, " bytes (at most ", largest_file, ')'));
    std::ifstream file(path, std::ios::binary);
    std::string all{std::istreambuf_iterator<char>(file), {}};
    if (!file) throw UsageError(text(path.string(), ": cannot be read"));
    return all;
}

}  // namespace

BlackBoxFile parse_black_box(std::string_view text_of_file, std::string const& path) {
    try {
        json const from = parse_flat_json(text_of_file);
        std::string const schema = from.at("schema").get<std::string>();
        if (schema != "sinew-black-box-1")
            throw UsageError(
                text("schema \"", schema, "\" (this version reads sinew-black-box-1)"));
        BlackBoxFile file;
        file.path = path;
        file.rank = whole<int>(from.at("rank"));
        file.size = whole<int>(from.at("size"));
        file.host = from.at("host").get<std::string>();
        file.reason = from.at("reason").get<std::string>();
        file.written = whole<std::int64_t>(from.at("written"));
        for (json const& one : from.at("communicators"))
            file.communicators.push_back(parse_communicator(one));
        return file;
    } catch (json::exception const& error) {
        throw UsageError(text(path, ": no black box of sinew (", error.what(), ')'));
    } catch (UsageError const& error) {
        throw UsageError(text(path, ": ", error.what()));
    }
}

std::vector<BlackBoxFile> read_black_boxes(fs::path const& folder) {
    std::error_code error;
    std::vector<fs::path> paths;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
        std::string const name = at->path().filename().string();
        if (name.starts_with("rank-") && name.ends_with(".json")) paths.push_back(at->path());
    }
    if (error) throw UsageError(text("--blackbox ", folder.string(), ": ", error.message()));
    if (paths.empty())
        throw UsageError(text("--blackbox ", folder.string(),
                              ": no file rank-*.json. Ranks write them there with "
                              "SINEW_BLACKBOX=",
                              folder.string(),
                              " when a collective fails, on SIGUSR2 and on SIGTERM"));
    std::vector<BlackBoxFile> files;
    for (auto const& path : paths)
        files.push_back(parse_black_box(contents_of(path), path.string()));
    std::stable_sort(files.begin(), files.end(),
                     [](auto const& a, auto const& b) { return a.rank < b.rank; });
    return files;
}

}  // namespace sinew::launch
