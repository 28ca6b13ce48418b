// SPDX-License-Identifier: Apache-2.0
#include "tests/fake_gpu/fake_kernels.hpp"

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "src/sgd/device/twins.hpp"
#include "tests/fake_gpu/fake_cuda.hpp"

namespace sinew::tests {

using namespace sinew::sgd;

namespace {

template <class T>
void to_shadow(T*& pointer) {
    pointer = static_cast<T*>(fake_cuda_shadow(pointer));
}
void to_shadow(std::uint64_t& address) {
    if (address != 0)
        address = reinterpret_cast<std::uint64_t>(
            fake_cuda_shadow(reinterpret_cast<void const*>(address)));
}

/// Each translates the addresses of a parameter, and keeps in `list` what it refers to.
template <class Item>
struct Lists {
    std::vector<Item> items;
    template <class Translate>
    void translate(Item const*& pointer, std::uint64_t count, Translate&& translate) {
        auto const* const there = static_cast<Item const*>(fake_cuda_shadow(pointer));
        items.assign(there, there + count);
        for (Item& item : items) translate(item);
        pointer = items.data();
    }
};

void run_segment_copy(Kernel kernel, SegmentCopy call, unsigned blocks) {
    Lists<Segment> list;
    list.translate(call.segments, call.segment_count, [](Segment& s) { to_shadow(s.tensor); });
    to_shadow(call.bucket);
    run_on_host(kernel, &call, blocks);
}
void run_sgd_step(SgdStep call, unsigned blocks) {
    Lists<SgdSegment> list;
    list.translate(call.segments, call.segment_count, [](SgdSegment& s) {
        to_shadow(s.parameters);
        to_shadow(s.momentum);
    });
    to_shadow(call.bucket);
    run_on_host(Kernel::sgd, &call, blocks);
}

void run_squares(SegmentSquares call, unsigned blocks) {
    Lists<Segment> list;
    list.translate(call.segments, call.segment_count, [](Segment&) {});
    to_shadow(call.bucket);
    to_shadow(call.sums);
    run_on_host(Kernel::squares, &call, blocks);
}

/// Calls with pointers to elements alone.
template <class Call, class... Pointers>
void run_with(Kernel kernel, void const* parameter, unsigned blocks, Pointers Call::*... pointers) {
    Call call;
    std::memcpy(&call, parameter, sizeof call);
    (to_shadow(call.*pointers), ...);
    run_on_host(kernel, &call, blocks);
}

template <class Call>
Call copy_of(void const* parameter) {
    Call call;
    std::memcpy(&call, parameter, sizeof call);
    return call;
}

bool find_kernel(std::string_view name, Kernel& kernel) {
    for (std::size_t i = 0; i < kernel_count; ++i)
        if (name == kernel_names[i]) return kernel = static_cast<Kernel>(i), true;
    return false;
}

}  // namespace

void run_fake_kernel(char const* name, unsigned blocks, void const* parameter) {
    Kernel kernel{};
    if (!find_kernel(name, kernel)) return;
    switch (kernel) {
        case Kernel::flatten:
        case Kernel::unflatten:
            return run_segment_copy(kernel, copy_of<SegmentCopy>(parameter), blocks);
        case Kernel::sgd:
            return run_sgd_step(copy_of<SgdStep>(parameter), blocks);
        case Kernel::convert:
            return run_with<ScaledCast>(kernel, parameter, blocks, &ScaledCast::to,
                                        &ScaledCast::from);
        case Kernel::add:
            return run_with<TwoSum>(kernel, parameter, blocks, &TwoSum::out, &TwoSum::a,
                                    &TwoSum::b);
        case Kernel::quantise:
            return run_with<Quantisation>(kernel, parameter, blocks, &Quantisation::rows,
                                          &Quantisation::in, &Quantisation::residual);
        case Kernel::dequantise:
            return run_with<Dequantisation>(kernel, parameter, blocks, &Dequantisation::out,
                                            &Dequantisation::rows);
        case Kernel::sum_rows:
            return run_with<RowSum>(kernel, parameter, blocks, &RowSum::result, &RowSum::rows,
                                    &RowSum::residual);
        case Kernel::squares:
            return run_squares(copy_of<SegmentSquares>(parameter), blocks);
        default:
            return run_with<Selection>(kernel, parameter, blocks, &Selection::values,
                                       &Selection::indices, &Selection::selected, &Selection::state,
                                       &Selection::chunks, &Selection::candidates);
    }
}

std::size_t fake_kernel_bytes(char const* name) {
    Kernel kernel{};
    if (!find_kernel(name, kernel)) return 0;
    switch (kernel) {
        case Kernel::flatten:
        case Kernel::unflatten:
            return sizeof(SegmentCopy);
        case Kernel::sgd:
            return sizeof(SgdStep);
        case Kernel::convert:
            return sizeof(ScaledCast);
        case Kernel::add:
            return sizeof(TwoSum);
        case Kernel::quantise:
            return sizeof(Quantisation);
        case Kernel::dequantise:
            return sizeof(Dequantisation);
        case Kernel::sum_rows:
            return sizeof(RowSum);
        case Kernel::squares:
            return sizeof(SegmentSquares);
        default:
            return sizeof(Selection);
    }
}

}  // namespace sinew::tests
