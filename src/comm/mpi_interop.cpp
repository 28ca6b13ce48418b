// SPDX-License-Identifier: Apache-2.0
#include <sinew/mpi.hpp>

#include <algorithm>
#include <cstdint>

#include <sinew/error.hpp>

#include "src/base/text.hpp"
#include "src/comm/join.hpp"
#include "src/transport/mpi_library.hpp"
#include "src/transport/mpi_transport.hpp"

namespace sinew::mpi {

namespace {

using TypeKind = DataType::Kind;
using OpKind = ReduceOp::Kind;

struct TypePair {
    MPI_Datatype mpi;
    TypeKind ours;
};

/// The first entry of a kind is its MPI type; the others are only converted from MPI.
std::vector<TypePair> const& type_table() {
    // MPI handles are not constants in every library, so the table is made at its first use.
    static std::vector<TypePair> const table{
        {MPI_FLOAT, TypeKind::f32},
        {MPI_DOUBLE, TypeKind::f64},
        {MPI_C_FLOAT_COMPLEX, TypeKind::c64},
        {MPI_C_DOUBLE_COMPLEX, TypeKind::c128},
        {MPI_CXX_FLOAT_COMPLEX, TypeKind::c64},
        {MPI_CXX_DOUBLE_COMPLEX, TypeKind::c128},
        {MPI_INT8_T, TypeKind::i8},
        {MPI_INT16_T, TypeKind::i16},
        {MPI_INT32_T, TypeKind::i32},
        {MPI_INT64_T, TypeKind::i64},
        {MPI_UINT8_T, TypeKind::u8},
        {MPI_UINT16_T, TypeKind::u16},
        {MPI_UINT32_T, TypeKind::u32},
        {MPI_UINT64_T, TypeKind::u64},
        {MPI_SIGNED_CHAR, TypeKind::i8},
        {MPI_CHAR, TypeKind::i8},
        {MPI_SHORT, TypeKind::i16},
        {MPI_INT, TypeKind::i32},
        {MPI_LONG, sizeof(long) == 8 ? TypeKind::i64 : TypeKind::i32},
        {MPI_LONG_LONG, TypeKind::i64},
        {MPI_UNSIGNED_CHAR, TypeKind::u8},
        {MPI_BYTE, TypeKind::u8},
        {MPI_UNSIGNED_SHORT, TypeKind::u16},
        {MPI_UNSIGNED, TypeKind::u32},
        {MPI_UNSIGNED_LONG, sizeof(long) == 8 ? TypeKind::u64 : TypeKind::u32},
        {MPI_UNSIGNED_LONG_LONG, TypeKind::u64},
        {MPI_FLOAT_INT, TypeKind::f32_index},
        {MPI_DOUBLE_INT, TypeKind::f64_index},
        {MPI_2INT, TypeKind::i32_index},
        {MPI_LONG_INT, sizeof(long) == 8 ? TypeKind::i64_index : TypeKind::i32_index}};
    return table;
}

struct OpPair {
    MPI_Op mpi;
    OpKind ours;
};

std::vector<OpPair> const& op_table() {
    static std::vector<OpPair> const table{
        {MPI_SUM, OpKind::sum},          {MPI_PROD, OpKind::prod},
        {MPI_MIN, OpKind::min},          {MPI_MAX, OpKind::max},
        {MPI_LAND, OpKind::logical_and}, {MPI_LOR, OpKind::logical_or},
        {MPI_LXOR, OpKind::logical_xor}, {MPI_BAND, OpKind::bit_and},
        {MPI_BOR, OpKind::bit_or},       {MPI_BXOR, OpKind::bit_xor},
        {MPI_MINLOC, OpKind::minloc},    {MPI_MAXLOC, OpKind::maxloc}};
    return table;
}

std::string name_of(MPI_Datatype type) {
    char name[MPI_MAX_OBJECT_NAME] = {};
    int length = 0;
    PMPI_Type_get_name(type, name, &length);
    return length > 0 ? name : "an MPI type without a name";
}

/// Returns the bytes from one array element to the next, including gaps in the type.
std::uint32_t bytes_in_array(MPI_Datatype type) {
    MPI_Aint low = 0, extent = 0, true_low = 0, true_extent = 0;
    PMPI_Type_get_extent(type, &low, &extent);
    PMPI_Type_get_true_extent(type, &true_low, &true_extent);
    if (true_low < 0 || extent < true_low + true_extent || extent > UINT32_MAX)
        throw UsageError(text(name_of(type), " reaches beyond its extent of ", extent,
                              " bytes. Give it that of the C++ type by MPI_Type_create_resized"));
    return static_cast<std::uint32_t>(extent);
}

/// A user-defined MPI operation, applied by MPI_Reduce_local.
struct MpiOperation final : ReduceOp::UserFunction {
    MpiOperation(MPI_Op op_, MPI_Datatype type_, std::size_t size_)
        : op(op_), type(type_), size(size_) {}
    void apply(void* out, void const* lower, void const* higher, std::size_t count) const override {
        // MPI_Reduce_local gives inout = in op inout: the lower operand is `in`.
        if (out == lower) {
            std::vector<char> copy(static_cast<char const*>(lower),
                                   static_cast<char const*>(lower) + count * size);
            return apply(out, copy.data(), higher, count);
        }
        if (out != higher)
            std::copy_n(static_cast<char const*>(higher), count * size, static_cast<char*>(out));
        constexpr std::size_t most = 1 << 30;
        for (std::size_t done = 0; done < count; done += most) {
            int const code =
                PMPI_Reduce_local(static_cast<char const*>(lower) + done * size,
                                  static_cast<char*>(out) + done * size,
                                  static_cast<int>(std::min(most, count - done)), type, op);
            if (code != MPI_SUCCESS)
                throw BackendError("MPI_Reduce_local failed on a user-defined operation", code);
        }
    }
    MPI_Op op;
    MPI_Datatype type;
    std::size_t size;
};

bool is_predefined(MPI_Datatype type, TypeKind* kind) {
    for (TypePair const& pair : type_table())
        if (pair.mpi == type) return *kind = pair.ours, true;
    return false;
}

}  // namespace

Communicator communicator(MPI_Comm comm) {
    if (!MpiLibrary::usable())
        throw UsageError(
            "sinew::mpi::communicator: MPI is not initialised, or is already finalised. Call "
            "MPI_Init first");
    if (comm == MPI_COMM_NULL)
        throw UsageError("sinew::mpi::communicator: the communicator is MPI_COMM_NULL");
    int between_groups = 0;
    if (PMPI_Comm_test_inter(comm, &between_groups) == MPI_SUCCESS && between_groups != 0)
        throw UsageError(
            "sinew::mpi::communicator: this is an inter-communicator, whose ranks are those of "
            "another group. Merge the two groups first (MPI_Intercomm_merge)");
    auto const settings = detail::CommonSettings::from_environment();
    auto transport = std::make_unique<MpiTransport>(comm, settings.deadlines.late);
    auto engine = detail::Engine::of_process(transport->threading());
    return Communicator(detail::join(std::move(transport), std::move(engine), NodeIdentity::mine(),
                                     settings, "mpi"));
}

MPI_Comm to_mpi(Communicator const& comm) {
    if (auto* const transport = dynamic_cast<MpiTransport*>(&comm.transport())) {
        // native() has no deadline, so all ranks must have arrived before it begins.
        if (!transport->has_native()) comm.state().run({.collective = Collective::barrier});
        return transport->native();
    }
    throw Unavailable(text("this communicator runs over ", comm.transport().name(),
                           ", not over MPI. Start the program with mpirun"));
}

DataType data_type(MPI_Datatype type) {
    if (type == MPI_DATATYPE_NULL) throw UsageError("the MPI type is MPI_DATATYPE_NULL");
    TypeKind kind{};
    if (is_predefined(type, &kind)) return kind;
    throw UsageError(
        text(name_of(type), " has no counterpart (only predefined C types of fixed layout have)"));
}

MPI_Datatype to_mpi(DataType type) {
    for (TypePair const& pair : type_table())
        if (pair.ours == type.kind()) return pair.mpi;
    throw UsageError(
        text(type.name(), " has no MPI type. Send it as MPI_BYTE, or reduce it with sinew"));
}

ReduceOp reduce_op(MPI_Op op, MPI_Datatype type) {
    for (OpPair const& pair : op_table())
        if (pair.mpi == op) return ReduceOp(pair.ours);
    // Checked here, because MPI would end the program.
    if (op == MPI_OP_NULL) throw UsageError("the MPI operation is MPI_OP_NULL");
    if (type == MPI_DATATYPE_NULL) throw UsageError("the MPI type is MPI_DATATYPE_NULL");
    int commutes = 0;
    if (PMPI_Op_commutative(op, &commutes) != MPI_SUCCESS)
        throw UsageError("the MPI operation is not valid");
    TypeKind kind{};
    auto const bytes = bytes_in_array(type);
    return {std::make_shared<MpiOperation>(op, type, bytes),
            is_predefined(type, &kind) ? DataType(kind) : DataType::opaque(bytes),
            commutes != 0 ? Commutative::yes : Commutative::no, "MPI operation"};
}

MPI_Op to_mpi(ReduceOp const& op) {
    for (OpPair const& pair : op_table())
        if (pair.ours == op.kind()) return pair.mpi;
    throw UsageError(text(op.name(), " has no counterpart in MPI"));
}

}  // namespace sinew::mpi
