// SPDX-License-Identifier: Apache-2.0
// What one lane of a warp does in the optimiser's step.
#pragma once

#include "src/sgd/device/element_lanes.hpp"

namespace sinew::sgd {

/// One element of the step: `parameter` and, if there is one, `velocity` (the momentum) are replaced.
SINEW_HOST_DEVICE inline void sgd_element(SgdStep const& step, float gradient, float& parameter,
                                          float& velocity, bool has_velocity) {
    float direction = gradient * step.scale;
    if (step.weight_decay != 0) direction = direction + step.weight_decay * parameter;
    if (has_velocity) {
        velocity = step.momentum * velocity + direction;
        direction = step.nesterov != 0 ? direction + step.momentum * velocity : velocity;
    }
    parameter = parameter - step.learning_rate * direction;
}

template <class Elements>
SINEW_HOST_DEVICE void sgd_part(SgdStep const& step, SgdSegment const& segment,
                                std::uint32_t lane) {
    using Word = typename Elements::Word;
    using Floats = Pack<F32Elements>;
    constexpr std::uint32_t n = Floats::elements;
    auto const* const gradients = static_cast<Word const*>(step.bucket) + segment.offset;
    auto* const parameters = reinterpret_cast<float*>(segment.parameters);
    auto* const velocities = reinterpret_cast<float*>(segment.momentum);  // null: there is none
    std::uint32_t done = 0;
    if (is_aligned(gradients, sizeof(Pack<Elements>)) && is_aligned(parameters, sizeof(Floats)) &&
        is_aligned(velocities, sizeof(Floats))) {
        std::uint32_t const packs = segment.count / n;
        constexpr std::uint32_t at_once = 2;  // three loads each
        for (std::uint32_t first = lane; first < packs; first += at_once * warp_lanes) {
            Pack<Elements> gradient[at_once] = {};
            Floats parameter[at_once] = {}, velocity[at_once] = {};
            SINEW_UNROLL
            for (std::uint32_t k = 0; k < at_once; ++k) {
                std::uint32_t const pack = first + k * warp_lanes;
                if (pack >= packs) continue;
                gradient[k] = load<Pack<Elements>>(gradients + pack * n);
                parameter[k] = load<Floats>(parameters + pack * n);
                if (velocities != nullptr) velocity[k] = load<Floats>(velocities + pack * n);
            }
            SINEW_UNROLL
            for (std::uint32_t k = 0; k < at_once; ++k) {
                std::uint32_t const pack = first + k * warp_lanes;
                SINEW_UNROLL
                for (unsigned i = 0; i < n; ++i) {
                    float p = F32Elements::decode(parameter[k].words[i]);
                    float v = F32Elements::decode(velocity[k].words[i]);
                    sgd_element(step, Elements::decode(gradient[k].words[i]), p, v,
                                velocities != nullptr);
                    parameter[k].words[i] = F32Elements::encode(p);
                    velocity[k].words[i] = F32Elements::encode(v);
                }
                if (pack >= packs) continue;
                store(parameters + pack * n, parameter[k]);
                if (velocities != nullptr) store(velocities + pack * n, velocity[k]);
            }
        }
        done = packs * n;
    }
    for (std::uint32_t i = done + lane; i < segment.count; i += warp_lanes) {
        float velocity = velocities != nullptr ? velocities[i] : 0.0f;
        sgd_element(step, Elements::decode(load<Word>(gradients + i)), parameters[i], velocity,
                    velocities != nullptr);
        if (velocities != nullptr) velocities[i] = velocity;
    }
}

SINEW_HOST_DEVICE inline void sgd_lane(SgdStep const& step, LanePosition at) {
    for (std::uint64_t i = at.warp; i < step.segment_count; i += at.warps) {
        SgdSegment const segment = load<SgdSegment>(step.segments + i);
        switch (step.bucket_format) {
            case FloatFormat::f32:
                sgd_part<F32Elements>(step, segment, at.lane);
                break;
            case FloatFormat::bf16:
                sgd_part<Bf16Elements>(step, segment, at.lane);
                break;
            case FloatFormat::f16:
                sgd_part<F16Elements>(step, segment, at.lane);
                break;
        }
    }
}

}  // namespace sinew::sgd
