// SPDX-License-Identifier: Apache-2.0
#include "tests/sgd/device/kernel_cases.hpp"

#include <cmath>
#include <limits>
#include <random>

#include "src/sgd/device/twins.hpp"
#include "tests/sgd/device/kernel_trial.hpp"

namespace sinew::tests {

using namespace sinew::sgd;

namespace {

constexpr FloatFormat formats[] = {FloatFormat::f32, FloatFormat::bf16, FloatFormat::f16};
constexpr BlockFormat block_formats[] = {BlockFormat::fp8, BlockFormat::int8};
constexpr unsigned twin_blocks =
    3;  // of another number of blocks than any GPU's the results are the same

char const* name_of_format(FloatFormat format) {
    return format == FloatFormat::f32 ? "f32" : format == FloatFormat::bf16 ? "bf16" : "f16";
}

std::vector<unsigned char> encoded(std::size_t count, unsigned seed, FloatFormat format) {
    return encoded_numbers(kernel_numbers(count, seed, true), format);
}

/// Calls the machine with make(true), the twin with make(false).
template <class Make, class Launch>
void both(KernelMachine& machine, Kernel kernel, Make&& make, Launch&& launch) {
    launch(machine.kernels(), make(true), machine.stream());
    auto const arguments = make(false);
    run_on_host(kernel, &arguments, twin_blocks);
}

/// Many tensors of odd lengths, one of many segments, one empty; every third is not aligned.
std::vector<std::size_t> tensor_lengths() {
    std::vector<std::size_t> lengths{1, 7, 0, 128, 3 * segment_elements + 5, 2048, 33};
    for (std::size_t i = 0; i < 60; ++i) lengths.push_back(i % 41 + 1);
    return lengths;
}

std::string copy_case(KernelMachine& machine, bool to_bucket, FloatFormat tensor_format,
                      FloatFormat bucket_format) {
    KernelTrial trial(machine);
    std::size_t const element = bytes_of(tensor_format);
    std::vector<TensorPlace> places[2];
    std::uint64_t offset = 0;
    unsigned seed = 1;
    for (std::size_t const length : tensor_lengths()) {
        std::size_t const shift = seed % 3 == 0 ? 1 : 0;  // elements before it
        auto const memory = trial.add(
            "tensor " + std::to_string(seed - 1), KernelTrial::contents_of(tensor_format),
            encoded(length + shift, seed, tensor_format).data(), (length + shift) * element);
        for (bool const device : {false, true})
            places[device ? 1 : 0].push_back(
                {reinterpret_cast<std::uint64_t>(memory.on<char>(device) + shift * element), offset,
                 length, element});
        offset += length + seed % 4;  // gaps, which must stay as they are
        ++seed;
    }
    auto const bucket =
        trial.add("bucket", KernelTrial::contents_of(bucket_format),
                  encoded(offset, 999, bucket_format).data(), offset * bytes_of(bucket_format));
    auto const on_host = segments_of(places[0]), on_device = segments_of(places[1]);
    auto const list = trial.lists(on_device, on_host);
    both(
        machine, to_bucket ? Kernel::flatten : Kernel::unflatten,
        [&](bool device) {
            return SegmentCopy{bucket.on(device), list.on<Segment>(device),
                               on_host.size(),    tensor_format,
                               bucket_format,     0.3f};
        },
        [&](DeviceKernels const& kernels, SegmentCopy const& call, CudaDriver::Stream stream) {
            if (to_bucket) kernels.flatten(call, stream);
            else kernels.unflatten(call, stream);
        });
    return trial.difference();
}

std::string convert_case(KernelMachine& machine, FloatFormat from, FloatFormat to,
                         std::size_t count, std::size_t shift) {
    KernelTrial trial(machine);
    auto const in =
        trial.add("in", KernelTrial::contents_of(from), encoded(count + shift, 5, from).data(),
                  (count + shift) * bytes_of(from));
    auto const out = trial.result("out", KernelTrial::contents_of(to), (count + 1) * bytes_of(to));
    both(
        machine, Kernel::convert,
        [&](bool device) {
            return ScaledCast{out.on(device), in.on<char>(device) + shift * bytes_of(from),
                              count,          to,
                              from,           1.0f / 3};
        },
        [](auto& kernels, auto const& call, auto stream) { kernels.convert(call, stream); });
    return trial.difference();
}

std::string add_case(KernelMachine& machine, FloatFormat format, std::size_t count,
                     std::size_t shift) {
    KernelTrial trial(machine);
    auto const contents = KernelTrial::contents_of(format);
    std::size_t const bytes = (count + shift) * bytes_of(format);
    auto const a = trial.add("a", contents, encoded(count + shift, 6, format).data(), bytes);
    auto const b = trial.add("b", contents, encoded(count + shift, 7, format).data(), bytes);
    both(
        machine, Kernel::add,
        [&](bool device) {
            auto* const in_place = a.on<char>(device) + shift * bytes_of(format);
            return TwoSum{in_place, in_place, b.on<char>(device), count, format};
        },
        [](auto& kernels, auto const& call, auto stream) { kernels.add(call, stream); });
    return trial.difference();
}

std::string sgd_case(KernelMachine& machine, FloatFormat format, bool has_momentum, float decay,
                     bool nesterov) {
    KernelTrial trial(machine);
    std::vector<TensorPlace> places[2];
    std::uint64_t offset = 0;
    unsigned seed = 1;
    for (std::size_t const length : tensor_lengths()) {
        std::size_t const shift = seed % 3 == 0 ? 1 : 0;
        auto const floats = [&](std::string name, unsigned s) {
            return trial.add(name + std::to_string(seed - 1), KernelTrial::Contents::f32,
                             kernel_numbers(length + shift, s, seed % 7 == 0).data(),
                             (length + shift) * sizeof(float));
        };
        auto const parameters = floats("parameters ", seed),
                   velocity = floats("momentum ", seed + 50);
        for (bool const device : {false, true}) {
            std::size_t const skipped = shift * sizeof(float);
            auto const v = reinterpret_cast<std::uint64_t>(velocity.on<char>(device) + skipped);
            places[device ? 1 : 0].push_back(
                {reinterpret_cast<std::uint64_t>(parameters.on<char>(device) + skipped), offset,
                 length, sizeof(float), has_momentum ? v : 0});
        }
        offset += length;
        ++seed;
    }
    auto const bucket = trial.add("bucket", KernelTrial::contents_of(format),
                                  encoded(offset, 77, format).data(), offset * bytes_of(format));
    auto const on_host = sgd_segments_of(places[0]), on_device = sgd_segments_of(places[1]);
    auto const list = trial.lists(on_device, on_host);
    both(
        machine, Kernel::sgd,
        [&](bool device) {
            return SgdStep{bucket.on(device),
                           list.on<SgdSegment>(device),
                           on_host.size(),
                           format,
                           0.25f,
                           0.05f,
                           0.9f,
                           decay,
                           nesterov ? 1u : 0u};
        },
        [](auto& kernels, auto const& call, auto stream) { kernels.sgd(call, stream); });
    return trial.difference();
}

std::string squares_case(KernelMachine& machine, FloatFormat format, bool special) {
    KernelTrial trial(machine);
    std::vector<TensorPlace> places;
    std::uint64_t offset = 0;
    for (std::size_t const length : tensor_lengths()) {
        places.push_back({0, offset, length, bytes_of(format)});
        offset += length + places.size() % 4;
    }
    auto const numbers = encoded_numbers(kernel_numbers(offset, 13, special), format);
    auto const bucket = trial.add("bucket", KernelTrial::contents_of(format), numbers.data(),
                                  offset * bytes_of(format));
    auto const segments = segments_of(places);
    auto const list = trial.lists(segments, segments);
    auto const sums =
        trial.result("sums", KernelTrial::Contents::f64, segments.size() * sizeof(double));
    both(
        machine, Kernel::squares,
        [&](bool device) {
            return SegmentSquares{sums.on<double>(device), bucket.on(device),
                                  list.on<Segment>(device), segments.size(), format};
        },
        [](auto& kernels, auto const& call, auto stream) { kernels.squares(call, stream); });
    return trial.difference();
}

std::string quantise_case(KernelMachine& machine, BlockFormat format, std::uint64_t rows,
                          std::uint64_t blocks, bool feedback) {
    KernelTrial trial(machine);
    std::size_t const count = rows * blocks * block_elements;
    auto const in = trial.add("in", KernelTrial::Contents::f32,
                              kernel_numbers(count, 8, true).data(), count * sizeof(float));
    auto const residual = trial.add("residual", KernelTrial::Contents::f32,
                                    kernel_numbers(count, 9, false).data(), count * sizeof(float));
    auto const row =
        trial.result("rows", KernelTrial::Contents::bits, rows * block_row_bytes(blocks));
    auto const back = trial.result("decoded", KernelTrial::Contents::f32, count * sizeof(float));
    both(
        machine, Kernel::quantise,
        [&](bool device) {
            return Quantisation{row.on(device),
                                in.on<float>(device),
                                feedback ? residual.on<float>(device) : nullptr,
                                rows,
                                blocks,
                                format};
        },
        [](auto& kernels, auto const& call, auto stream) { kernels.quantise(call, stream); });
    for (std::uint32_t const adds : {0u, 1u})
        both(
            machine, Kernel::dequantise,
            [&](bool device) {
                return Dequantisation{
                    back.on<float>(device), row.on(device), rows, blocks, format, adds};
            },
            [](auto& kernels, auto const& call, auto stream) { kernels.dequantise(call, stream); });
    return trial.difference();
}

/// `shift`: bytes before the rows and the sum, whose memory is aligned for 16.
std::string sum_rows_case(KernelMachine& machine, BlockFormat format, std::uint64_t rows,
                          std::uint64_t blocks, std::size_t shift, bool feedback) {
    KernelTrial trial(machine);
    // Every byte is a code; the scales must be numbers, among them NaN and zero.
    std::vector<unsigned char> bytes(rows * block_row_bytes(blocks));
    std::mt19937 random(10);
    for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(random());
    for (std::uint64_t row = 0; row < rows; ++row)
        for (std::uint64_t block = 0; block < blocks; ++block) {
            float const scale = block == 1 && row == 0 ? std::nanf("")
                                : block == 2           ? 0.0f
                                             : std::exp2(static_cast<float>(random() % 20) - 10);
            std::memcpy(bytes.data() + row * block_row_bytes(blocks) + block * sizeof scale, &scale,
                        sizeof scale);
        }
    std::size_t const count = blocks * block_elements;
    bytes.insert(bytes.begin(), shift, 0);
    auto const in = trial.add("rows", KernelTrial::Contents::bits, bytes.data(), bytes.size());
    auto const residual = trial.add("residual", KernelTrial::Contents::f32,
                                    kernel_numbers(count, 11, false).data(), count * sizeof(float));
    auto const sum =
        trial.result("sum", KernelTrial::Contents::bits, shift + block_row_bytes(blocks));
    both(
        machine, Kernel::sum_rows,
        [&](bool device) {
            return RowSum{sum.on<std::byte>(device) + shift,
                          in.on<std::byte>(device) + shift,
                          feedback ? residual.on<float>(device) : nullptr,
                          rows,
                          blocks,
                          format};
        },
        [](auto& kernels, auto const& call, auto stream) { kernels.sum_rows(call, stream); });
    return trial.difference();
}

std::string select_case(KernelMachine& machine, std::vector<float> const& values, std::uint32_t k) {
    KernelTrial trial(machine);
    std::size_t const bytes = values.size() * sizeof(float);
    auto const in = trial.add("values", KernelTrial::Contents::f32, values.data(), bytes);
    auto const indices =
        trial.result("indices", KernelTrial::Contents::bits, k * sizeof(std::uint32_t));
    auto const selected = trial.result("selected", KernelTrial::Contents::f32, k * sizeof(float));
    auto const workspace = trial.result("workspace", KernelTrial::Contents::not_compared,
                                        DeviceKernels::selection_workspace_bytes(values.size()));
    auto const make = [&](bool device) {
        Selection call{};
        call.values = in.on<float>(device);
        call.count = values.size();
        call.k = k;
        call.indices = indices.on<std::uint32_t>(device);
        call.selected = selected.on<float>(device);
        return call;
    };
    machine.kernels().select(make(true), reinterpret_cast<CudaDriver::Address>(workspace.device),
                             machine.stream());
    select_on_host(make(false), twin_blocks);
    return trial.difference();
}

void add_element_cases(std::vector<KernelCase>& cases) {
    for (FloatFormat const a : formats)
        for (FloatFormat const b : formats) {
            std::string const names = std::string(name_of_format(a)) + " to " + name_of_format(b);
            cases.push_back(
                {"flatten " + names, [=](KernelMachine& m) { return copy_case(m, true, a, b); }});
            cases.push_back({"unflatten " + names,
                             [=](KernelMachine& m) { return copy_case(m, false, b, a); }});
            for (std::size_t const shift : {0, 1})
                cases.push_back(
                    {"convert " + names + (shift ? ", not aligned" : ""),
                     [=](KernelMachine& m) { return convert_case(m, a, b, 10007, shift); }});
        }
    for (FloatFormat const format : formats) {
        for (std::size_t const shift : {0, 1})
            cases.push_back(
                {std::string("add ") + name_of_format(format) + (shift ? ", not aligned" : ""),
                 [=](KernelMachine& m) { return add_case(m, format, 10007, shift); }});
        for (bool const special : {false, true})
            cases.push_back(
                {std::string("squares ") + name_of_format(format) + (special ? ", special" : ""),
                 [=](KernelMachine& m) { return squares_case(m, format, special); }});
        for (bool const momentum : {false, true})
            for (float const decay : {0.0f, 1e-2f})
                for (bool const nesterov : {false, true})
                    cases.push_back({std::string("sgd ") + name_of_format(format) +
                                         (momentum ? ", momentum" : "") +
                                         (decay != 0 ? ", decay" : "") +
                                         (nesterov ? ", nesterov" : ""),
                                     [=](KernelMachine& m) {
                                         return sgd_case(m, format, momentum, decay, nesterov);
                                     }});
    }
}

void add_block_cases(std::vector<KernelCase>& cases) {
    for (BlockFormat const format : block_formats)
        for (bool const feedback : {false, true}) {
            std::string const names = std::string(format == BlockFormat::fp8 ? "fp8" : "int8") +
                                      (feedback ? ", error feedback" : "");
            for (std::uint64_t const rows : {1, 3})
                cases.push_back(
                    {"quantise " + names + ", rows " + std::to_string(rows), [=](KernelMachine& m) {
                         return quantise_case(m, format, rows, 67, feedback);
                     }});
            // Rows that are aligned for reads of 16 bytes, and others.
            for (auto const& [blocks, shift] : {std::pair{1, 0}, {67, 0}, {68, 0}, {68, 4}})
                for (std::uint64_t const rows : {0, 1, 8, 15})
                    cases.push_back(
                        {"sum_rows " + names + ", rows " + std::to_string(rows) + ", blocks " +
                             std::to_string(blocks) + ", shift " + std::to_string(shift),
                         [=, blocks = std::uint64_t(blocks),
                          shift = std::size_t(shift)](KernelMachine& m) {
                             return sum_rows_case(m, format, rows, blocks, shift, feedback);
                         }});
        }
}

void add_selection_cases(std::vector<KernelCase>& cases) {
    for (std::size_t const count : {1, 2048, 30011})
        for (std::uint32_t const k : {std::uint32_t{1}, static_cast<std::uint32_t>(count / 100),
                                      static_cast<std::uint32_t>(count)})
            if (k > 0)
                cases.push_back({"select " + std::to_string(k) + " of " + std::to_string(count),
                                 [=](KernelMachine& m) {
                                     return select_case(m, kernel_numbers(count, 12, true), k);
                                 }});
    // More chunks than are summed up at a time.
    std::size_t const many = std::size_t{SelectionTile::chunks} * selection_chunk + 5000;
    cases.push_back({"select 1 % of many", [=](KernelMachine& m) {
                         return select_case(m, kernel_numbers(many, 12, true),
                                            static_cast<std::uint32_t>(many / 100));
                     }});
    for (SelectionValues const kind : all_selection_values)
        for (std::uint32_t const k : {1u, 1234u, 9000u, 20000u})
            cases.push_back({std::string("select ") + std::to_string(k) + " of " + name_of(kind),
                             [=](KernelMachine& m) {
                                 return select_case(m, selection_values(kind, 20001), k);
                             }});
}

}  // namespace

std::vector<float> kernel_numbers(std::size_t count, unsigned seed, bool special) {
    std::mt19937 random(seed);
    std::vector<float> values(count);
    for (float& value : values) {
        int const exponent = static_cast<int>(random() % 24) - 16;
        auto const mantissa = static_cast<float>(random() % 65536) / 32768.0f - 1.0f;
        value = std::ldexp(mantissa, exponent);
        if (!special) continue;
        std::uint32_t const kind = random() % 512;
        if (kind == 0) value = std::nanf("");
        else if (kind == 1) value = std::numeric_limits<float>::infinity();
        else if (kind == 2) value = -std::numeric_limits<float>::infinity();
        else if (kind < 16) value = kind % 2 == 0 ? 0.0f : -0.0f;
        else if (kind < 32) value = std::ldexp(mantissa, -130 - static_cast<int>(kind % 16));
        else if (kind < 40) value = std::ldexp(mantissa, 100);
    }
    return values;
}

char const* name_of(SelectionValues kind) {
    switch (kind) {
        case SelectionValues::equal:
            return "equal values";
        case SelectionValues::close:
            return "values in one bin";
        case SelectionValues::clustered:
            return "chunks in and beside the bin";
        case SelectionValues::zeros:
            return "zeros";
        case SelectionValues::nan:
            return "NaN";
    }
    return "";
}

std::vector<float> selection_values(SelectionValues kind, std::size_t count) {
    std::vector<float> values = kernel_numbers(count, 13, true);
    std::mt19937 random(14);
    for (std::size_t i = 0; i < count; ++i) {
        // The first pass tells apart numbers whose upper three bits of the mantissa differ.
        float const close = 1 + static_cast<float>(random() % 4096) / 65536;
        std::size_t const chunk = i / selection_chunk;
        if (kind == SelectionValues::equal) values[i] = i % 3 == 0 ? 2.5f : -2.5f;
        if (kind == SelectionValues::close) values[i] = i % 2 == 0 ? close : -close;
        if (kind == SelectionValues::zeros) values[i] = i % 2 == 0 ? 0.0f : -0.0f;
        if (kind == SelectionValues::nan) values[i] = std::nanf("");
        if (kind != SelectionValues::clustered) continue;
        // Candidates of a chunk: all, exactly as many as it has room for, one more, none.
        std::size_t const room = selection_room + chunk % 4 - 1;
        std::size_t const candidates = chunk % 4 == 0 ? selection_chunk : chunk % 4 == 3 ? 0 : room;
        values[i] = i % selection_chunk < candidates ? close : i % 5 == 0 ? 3.0f : 0.25f;
    }
    return values;
}

std::vector<unsigned char> encoded_numbers(std::vector<float> const& values, FloatFormat format) {
    std::vector<unsigned char> bytes(values.size() * bytes_of(format) + 1);
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (format == FloatFormat::f32) {
            std::memcpy(bytes.data() + 4 * i, &values[i], 4);
            continue;
        }
        std::uint16_t const word = format == FloatFormat::bf16 ? Bf16Elements::encode(values[i])
                                                               : F16Elements::encode(values[i]);
        std::memcpy(bytes.data() + 2 * i, &word, 2);
    }
    return bytes;
}

void select_on_host(Selection call, unsigned blocks) {
    SelectionState state;
    std::vector<ChunkCounts> chunks(selection_chunks(call.count));
    std::vector<std::uint32_t> candidates(chunks.size() * selection_room);
    call.state = &state;
    call.chunks = chunks.data();
    call.candidates = candidates.data();
    call.pass = 0;
    run_on_host(Kernel::selection_begin, &call, 1);
    for (; call.pass < selection_passes; ++call.pass) {
        run_on_host(Kernel::selection_histogram, &call, blocks);
        run_on_host(Kernel::selection_choose, &call, 1);
        if (call.pass == 0) run_on_host(Kernel::selection_gather, &call, blocks);
    }
    run_on_host(Kernel::selection_count, &call, blocks);
    run_on_host(Kernel::selection_offsets, &call, 1);
    run_on_host(Kernel::selection_compact, &call, blocks);
}

std::vector<KernelCase> kernel_cases() {
    std::vector<KernelCase> cases;
    add_element_cases(cases);
    add_block_cases(cases);
    add_selection_cases(cases);
    return cases;
}

}  // namespace sinew::tests
