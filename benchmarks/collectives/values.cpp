// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/collectives/values.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "benchmarks/collectives/scalar.hpp"

namespace sinew::bench {

namespace {

std::uint64_t hash(std::uint64_t index) { return (index + 1) * 0x9e3779b97f4a7c15ull >> 24; }

/// The number of different values. It is prime if the type has enough range, so that no pattern of
/// block sizes coincides with its own repetition.
int residues(Problem const& problem) {
    double const room = exact_limit(problem.type) / problem.ranks;
    bool const adds =
        problem.op.kind() == ReduceOp::Kind::sum || problem.op.kind() == ReduceOp::Kind::average;
    return adds && room < 6 ? std::max(2, static_cast<int>(room) + 1) : 7;
}

Scalar contribution(Problem const& problem, int rank, int residue, int residues) {
    int const value = (residue + rank) % residues;
    switch (problem.op.kind()) {
        case ReduceOp::Kind::prod:  // few powers of two: exact in every type
            return {rank < 6 && value == 0 ? 2.0 : 1.0};
        case ReduceOp::Kind::sum:
        case ReduceOp::Kind::average:
            if (rank >= exact_limit(problem.type)) return {};
            return {double(value), problem.type.is_complex() ? double((value + 1) % residues) : 0};
        default:
            return {double(value), 0, rank};
    }
}

/// The end of the range of ranks whose contributions this rank receives.
int last_rank(Problem const& problem) {
    if (problem.collective == Collective::scan) return problem.rank + 1;
    if (problem.collective == Collective::exscan) return problem.rank;
    return problem.ranks;
}

bool equal(DataType type, std::byte const* a, std::byte const* b) {
    if (!type.is_indexed()) return std::memcmp(a, b, type.size()) == 0;
    Scalar const x = decode(type, a), y = decode(type, b);  // their padding may differ
    return x.real == y.real && x.index == y.index;
}

// Allows for a mean that is rounded twice (multiplying by 1/n is as valid as dividing).
bool about_equal(DataType type, std::byte const* a, std::byte const* b) {
    Scalar const x = decode(type, a), y = decode(type, b);
    double const tolerance = type == DataType::Kind::bf16  ? 1e-2
                             : type == DataType::Kind::f16 ? 2e-3
                                                           : 1e-6;
    auto const close = [&](double p, double q) {
        return std::abs(p - q) <= tolerance * std::abs(q);
    };
    return close(x.real, y.real) && close(x.imaginary, y.imaginary);
}

}  // namespace

Values::Values(Problem const& problem) : problem_(problem) {
    if (!is_reduction(problem.collective)) return;
    int const values = residues(problem);
    for (int residue = 0; residue < values; ++residue) {
        mine_.push_back(encode(problem.type, contribution(problem, problem.rank, residue, values)));
        Scalar result = contribution(problem, 0, residue, values);
        for (int rank = 1; rank < last_rank(problem); ++rank)
            result =
                combine(problem.op.kind(), result, contribution(problem, rank, residue, values));
        if (problem.op.kind() == ReduceOp::Kind::average) {
            result.real /= last_rank(problem);
            result.imaginary /= last_rank(problem);
        }
        // With one rank nothing is combined, so the result need not be 0 or 1.
        combined_.push_back(encode(problem.type, result));
    }
}

Values::Element Values::moved(int rank, std::size_t index) const {
    // Every byte depends on rank and index, so that one-byte types distinguish ranks too.
    std::uint64_t const word =
        hash(index) + static_cast<std::uint64_t>(rank) * 0x1f1f1f1f1f1f1f1full;
    Element element;
    std::memcpy(element.data(), &word, 8);
    std::memcpy(element.data() + 8, &word, 8);
    return element;
}

void Values::write_moved(std::byte* to, int rank, std::size_t count) const {
    std::size_t const size = problem_.type.size();
    for (std::size_t i = 0; i < count; ++i) std::memcpy(to + i * size, moved(rank, i).data(), size);
}

void Values::prepare(Workload const& load) const {
    std::size_t const size = problem_.type.size();
    std::memset(load.out_bytes(), 0xa5, load.out().bytes());
    if (!is_reduction(problem_.collective)) {
        write_moved(load.in_bytes(), problem_.rank, problem_.in_count());
        if (problem_.collective == Collective::broadcast && problem_.is_root())
            write_moved(load.out_bytes(), problem_.rank, problem_.count);
        return;
    }
    for (std::size_t i = 0; i < problem_.in_count(); ++i)
        std::memcpy(load.in_bytes() + i * size, mine_[hash(i) % mine_.size()].data(), size);
}

bool Values::defined(Workload const& load) const {
    bool const first_of_exscan = problem_.collective == Collective::exscan && problem_.rank == 0;
    return load.out().count > 0 && !first_of_exscan;
}

std::size_t Values::wrong(Workload const& load) const {
    if (!defined(load)) return 0;
    return is_reduction(problem_.collective) ? wrong_reduced(load) : wrong_moved(load);
}

std::size_t Values::wrong_reduced(Workload const& load) const {
    bool const parts = !problem_.parts.empty();
    std::size_t const size = problem_.type.size(),
                      offset = parts ? problem_.offset(problem_.rank) : 0;
    auto const same = problem_.op.kind() == ReduceOp::Kind::average ? about_equal : equal;
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < problem_.out_count(); ++i) {
        Element const& expected = combined_[hash(i + offset) % combined_.size()];
        if (!same(problem_.type, load.out_bytes() + i * size, expected.data())) ++wrong;
    }
    return wrong;
}

std::size_t Values::wrong_moved(Workload const& load) const {
    std::size_t const size = problem_.type.size();
    std::byte const* from = load.out_bytes();
    std::size_t wrong = 0;
    auto const compare = [&](int source, std::size_t first, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i, from += size)
            if (std::memcmp(from, moved(source, first + i).data(), size) != 0) ++wrong;
    };
    switch (problem_.collective) {
        case Collective::broadcast:
            compare(Problem::root, 0, problem_.count);
            break;
        case Collective::scatter:
        case Collective::scatterv:
            compare(Problem::root, problem_.offset(problem_.rank), problem_.part());
            break;
        case Collective::alltoall:
        case Collective::alltoallv:
            for (int source = 0; source < problem_.ranks; ++source)
                compare(source, problem_.offset(problem_.rank), problem_.part());
            break;
        default:  // allgather(v), gather(v)
            for (int source = 0; source < problem_.ranks; ++source)
                compare(source, 0, problem_.parts[static_cast<std::size_t>(source)]);
    }
    return wrong;
}

}  // namespace sinew::bench
