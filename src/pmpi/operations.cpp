// SPDX-License-Identifier: Apache-2.0
#include "src/pmpi/operations.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include <sinew/error.hpp>

#include "src/pmpi/comm_route.hpp"
#include "src/pmpi/real.hpp"
#include "src/pmpi/types.hpp"

namespace sinew::pmpi {

namespace {

using TypeKind = DataType::Kind;
using OpKind = ReduceOp::Kind;

/// The kinds of types for which MPI defines operations (MPI 4.1, 6.9.2).
enum Class : unsigned {
    c_integer = 1,
    fortran_integer = 2,
    floating = 4,
    complex_number = 8,
    logical = 16,
    byte = 32,
    address = 64,  ///< MPI_AINT, MPI_OFFSET, MPI_COUNT
    pair = 128,
};

struct KnownType {
    Class class_;
    TypeKind kind;
};
struct KnownOp {
    OpKind kind;
    unsigned classes;  ///< on which it is defined
};

/// The predefined handles; never changed after MPI_Init.
struct Tables {
    std::unordered_map<std::uint64_t, KnownType> types;
    std::unordered_map<std::uint64_t, KnownOp> ops;
    std::vector<std::uint64_t> other_ops;  ///< predefined, and not for reductions
};
Tables& tables() {
    static Tables& all = *new Tables;
    return all;
}

/// The integer type of this many bytes.
TypeKind integer(std::size_t bytes, bool is_signed) {
    constexpr std::array signed_kinds{TypeKind::i8, TypeKind::i16, TypeKind::i32, TypeKind::i64};
    constexpr std::array unsigned_kinds{TypeKind::u8, TypeKind::u16, TypeKind::u32, TypeKind::u64};
    std::size_t const width = bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3;
    return is_signed ? signed_kinds[width] : unsigned_kinds[width];
}

/// Fills the table of types. A type that this MPI has not, or that has a size for which there are
/// no kernels, is left out.
class TypeTable {
public:
    void add(MPI_Datatype type, Class of, bool is_signed = true) {
        // What an MPI was built without is MPI_DATATYPE_NULL or has no size.
        if (type == MPI_Datatype{} || type == MPI_DATATYPE_NULL) return;
        MPI_Count size = 0;
        real().Type_size_x(type, &size);
        auto const bytes = static_cast<std::size_t>(size);
        if (of == floating) {
            if (bytes == 4) insert(type, of, TypeKind::f32);
            if (bytes == 8) insert(type, of, TypeKind::f64);
        } else if (of == complex_number) {
            if (bytes == 8) insert(type, of, TypeKind::c64);
            if (bytes == 16) insert(type, of, TypeKind::c128);
        } else if (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8) {
            insert(type, of, integer(bytes, is_signed));
        }
    }
    void add_pair(MPI_Datatype type, TypeKind kind) {
        if (type == MPI_Datatype{} || type == MPI_DATATYPE_NULL) return;
        if (layout_of(type).extent == static_cast<std::ptrdiff_t>(DataType(kind).size()))
            insert(type, pair, kind);
    }

private:
    static void insert(MPI_Datatype type, Class of, TypeKind kind) {
        tables().types.emplace(key_of(type), KnownType{of, kind});
    }
};

void fill_types() {
    TypeTable table;
    for (MPI_Datatype const type : {MPI_SIGNED_CHAR, MPI_SHORT, MPI_INT, MPI_LONG, MPI_LONG_LONG,
                                    MPI_INT8_T, MPI_INT16_T, MPI_INT32_T, MPI_INT64_T})
        table.add(type, c_integer);
    for (MPI_Datatype const type :
         {MPI_UNSIGNED_CHAR, MPI_UNSIGNED_SHORT, MPI_UNSIGNED, MPI_UNSIGNED_LONG,
          MPI_UNSIGNED_LONG_LONG, MPI_UINT8_T, MPI_UINT16_T, MPI_UINT32_T, MPI_UINT64_T})
        table.add(type, c_integer, false);
    for (MPI_Datatype const type :
         {MPI_INTEGER, MPI_INTEGER1, MPI_INTEGER2, MPI_INTEGER4, MPI_INTEGER8})
        table.add(type, fortran_integer);
    for (MPI_Datatype const type :
         {MPI_FLOAT, MPI_DOUBLE, MPI_REAL, MPI_DOUBLE_PRECISION, MPI_REAL4, MPI_REAL8})
        table.add(type, floating);
    for (MPI_Datatype const type :
         {MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_CXX_FLOAT_COMPLEX, MPI_CXX_DOUBLE_COMPLEX,
          MPI_COMPLEX, MPI_DOUBLE_COMPLEX, MPI_COMPLEX8, MPI_COMPLEX16})
        table.add(type, complex_number);
    for (MPI_Datatype const type : {MPI_C_BOOL, MPI_CXX_BOOL, MPI_LOGICAL})
        table.add(type, logical, false);
    for (MPI_Datatype const type : {MPI_AINT, MPI_OFFSET, MPI_COUNT}) table.add(type, address);
    table.add(MPI_BYTE, byte, false);
    table.add_pair(MPI_FLOAT_INT, TypeKind::f32_index);
    table.add_pair(MPI_DOUBLE_INT, TypeKind::f64_index);
    table.add_pair(MPI_2INT, TypeKind::i32_index);
    table.add_pair(MPI_LONG_INT, sizeof(long) == 8 ? TypeKind::i64_index : TypeKind::i32_index);
    table.add_pair(MPI_2INTEGER, TypeKind::i32_index);
}

void fill_operations() {
    constexpr unsigned any_integer = c_integer | fortran_integer | address;
    constexpr unsigned ordered = any_integer | floating;
    constexpr unsigned number = ordered | complex_number;
    constexpr unsigned truth = c_integer | logical;
    constexpr unsigned bits = any_integer | byte;
    auto& ops = tables().ops;
    ops[key_of(MPI_SUM)] = {OpKind::sum, number};
    ops[key_of(MPI_PROD)] = {OpKind::prod, number};
    ops[key_of(MPI_MIN)] = {OpKind::min, ordered};
    ops[key_of(MPI_MAX)] = {OpKind::max, ordered};
    ops[key_of(MPI_LAND)] = {OpKind::logical_and, truth};
    ops[key_of(MPI_LOR)] = {OpKind::logical_or, truth};
    ops[key_of(MPI_LXOR)] = {OpKind::logical_xor, truth};
    ops[key_of(MPI_BAND)] = {OpKind::bit_and, bits};
    ops[key_of(MPI_BOR)] = {OpKind::bit_or, bits};
    ops[key_of(MPI_BXOR)] = {OpKind::bit_xor, bits};
    ops[key_of(MPI_MINLOC)] = {OpKind::minloc, pair};
    ops[key_of(MPI_MAXLOC)] = {OpKind::maxloc, pair};
    tables().other_ops = {key_of(MPI_OP_NULL), key_of(MPI_REPLACE), key_of(MPI_NO_OP)};
}

/// An operation of the program, applied by MPI_Reduce_local to pieces that lie aligned.
class ProgramOperation final : public ReduceOp::UserFunction {
public:
    ProgramOperation(MPI_Op op, MPI_Datatype type, std::size_t element)
        : op_(op), type_(type), element_(element) {}

    void apply(void* out, void const* lower, void const* higher, std::size_t count) const override {
        std::size_t const most = std::max<std::size_t>(piece_bytes / element_, 1);
        std::vector<Aligned> a(blocks_of(std::min(most, count))), b(a.size());
        for (std::size_t done = 0; done < count; done += most) {
            std::size_t const n = std::min(most, count - done), offset = done * element_;
            std::memcpy(a.data(), static_cast<char const*>(lower) + offset, n * element_);
            std::memcpy(b.data(), static_cast<char const*>(higher) + offset, n * element_);
            // b = a op b
            int const code =
                real().Reduce_local(a.data(), b.data(), static_cast<int>(n), type_, op_);
            if (code != MPI_SUCCESS)
                throw BackendError("MPI_Reduce_local failed on an operation of the program", code);
            std::memcpy(static_cast<char*>(out) + offset, b.data(), n * element_);
        }
    }

private:
    static constexpr std::size_t piece_bytes = 16384;
    struct alignas(64) Aligned {
        std::array<char, 64> bytes;
    };
    std::size_t blocks_of(std::size_t count) const {
        return (count * element_ + sizeof(Aligned) - 1) / sizeof(Aligned);
    }

    MPI_Op op_;
    MPI_Datatype type_;
    std::size_t element_;
};

void use(Reduction& reduction, ReduceOp operation, DataType type) {
    reduction.element = type.size();
    reduction.operation.emplace(std::move(operation));
    reduction.reducer.emplace(*reduction.operation, type);
}

/// Fills in what type and op of the reduction stand for.
void resolve(Reduction& reduction) {
    Tables const& known = tables();
    auto const type = known.types.find(key_of(reduction.type));
    auto const op = known.ops.find(key_of(reduction.op));
    reduction.operation.reset();
    reduction.reducer.reset();
    reduction.outcome = CallOutcome::taken;
    if (op != known.ops.end()) {
        if (type != known.types.end() && (type->second.class_ & op->second.classes) != 0)
            return use(reduction, ReduceOp(op->second.kind), type->second.kind);
        reduction.outcome = CallOutcome::operation;
        return;
    }
    bool const refused =
        std::ranges::find(known.other_ops, key_of(reduction.op)) != known.other_ops.end();
    if (refused || reduction.type == MPI_DATATYPE_NULL) {
        reduction.outcome = CallOutcome::arguments;
        return;
    }
    TypeLayout const layout = layout_of(reduction.type);
    if (!layout.gapless || layout.size == 0 || layout.size > UINT32_MAX) {
        reduction.outcome = CallOutcome::operation;
        return;
    }
    DataType const opaque = DataType::opaque(static_cast<std::uint32_t>(layout.size));
    use(reduction,
        ReduceOp(std::make_shared<ProgramOperation>(reduction.op, reduction.type, layout.size),
                 opaque, Commutative::no, "operation of the program"),
        opaque);
}

}  // namespace

void prepare_operations() {
    if (!tables().ops.empty()) return;
    fill_types();
    fill_operations();
}

Reduction const& reduction_of(MPI_Datatype type, MPI_Op op) {
    constexpr std::size_t known_reductions = 16;
    thread_local std::array<Reduction, known_reductions> known;
    std::uint64_t const key = key_of(type) * 3 + key_of(op), now = handle_epoch();
    Reduction& place = known[(key ^ key >> 4 ^ key >> 8) % known_reductions];
    if (place.type == type && place.op == op && place.epoch == now) [[likely]]
        return place;
    place.epoch = 0;
    place.type = type;
    place.op = op;
    resolve(place);
    place.epoch = now;
    return place;
}

}  // namespace sinew::pmpi
