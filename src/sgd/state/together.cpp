// SPDX-License-Identifier: Apache-2.0
#include "src/sgd/state/together.hpp"

#include <new>
#include <numeric>

#include <sinew/error.hpp>

#include "src/base/text.hpp"
#include "src/sgd/agreement.hpp"

namespace sinew::sgd {

namespace {

std::string string_of(std::span<std::byte const> bytes) {
    return {reinterpret_cast<char const*>(bytes.data()), bytes.size()};
}

}  // namespace

std::exception_ptr Together::agree(std::string const& what, std::function<void()> const& local) {
    std::string problem;
    bool usage = false;
    try {
        local();
    } catch (UsageError const& error) {
        usage = true;
        problem = error.what();
    } catch (std::bad_alloc const& error) {
        problem = text("there is not enough memory (", error.what(), ')');
    } catch (std::exception const& error) {
        problem = error.what();
    } catch (...) {
        problem = "an exception that is no std::exception";
    }
    if (!problem.empty()) problem.insert(0, usage ? "u" : "e");
    auto const problems = gather(std::as_bytes(std::span(problem)));
    for (int rank = 0; rank < comm_.size(); ++rank) {
        auto const& one = problems[static_cast<std::size_t>(rank)];
        if (one.empty()) continue;
        auto const message =
            text(what, ": ", rank_text(comm_, rank), ": ", string_of(std::span(one).subspan(1)));
        if (one.front() == std::byte{'u'}) return std::make_exception_ptr(UsageError(message));
        return std::make_exception_ptr(Error(message));
    }
    return nullptr;
}

std::vector<std::uint64_t> Together::gather(std::uint64_t value) {
    std::vector<std::uint64_t> values(static_cast<std::size_t>(comm_.size()));
    values[static_cast<std::size_t>(comm_.rank())] = value;
    comm_.allgather(values, options_);
    return values;
}

std::vector<Together::Bytes> Together::gather(std::span<std::byte const> bytes) {
    auto const gathered = gather(std::uint64_t{bytes.size()});
    std::vector<std::size_t> const sizes(gathered.begin(), gathered.end());
    Bytes packed(std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}));
    comm_.allgatherv(ConstBuffer(bytes.data(), bytes.size(), DataType::Kind::u8),
                     Buffer(packed.data(), packed.size(), DataType::Kind::u8), Parts(sizes),
                     options_);
    std::vector<Bytes> all;
    auto from = packed.begin();
    for (std::size_t const size : sizes) {
        all.emplace_back(from, from + static_cast<std::ptrdiff_t>(size));
        from += static_cast<std::ptrdiff_t>(size);
    }
    return all;
}

void Together::require_equal(std::string const& what, std::string const& value) {
    auto const values = gather(std::as_bytes(std::span(value)));
    for (int rank = 1; rank < comm_.size(); ++rank)
        if (values[static_cast<std::size_t>(rank)] != values[0])
            throw UsageError(text(what, ": ", rank_text(comm_, 0), " has ", string_of(values[0]),
                                  ", ", rank_text(comm_, rank), " has ",
                                  string_of(values[static_cast<std::size_t>(rank)])));
}

}  // namespace sinew::sgd
