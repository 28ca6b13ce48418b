// SPDX-License-Identifier: Apache-2.0
#include "examples/sgd_digits/synthetic.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <limits>
#include <vector>

#include "examples/sgd_digits/random.hpp"

namespace sgd_digits {
namespace {

constexpr int side = 16;    // pixels
constexpr int unit = 256;   // lengths below are in 1/256 pixel
constexpr int middle = 50;  // of the 100 x 100 paper on which strokes are defined, y downwards

struct Point {
    int x, y;
};
using Stroke = std::vector<Point>;
using Glyph = std::vector<Stroke>;

// Some digits have several shapes, as people write them, which is hard for a linear classifier.
std::array<std::vector<Glyph>, classes> const& glyphs() {
    // clang-format off
    static std::array<std::vector<Glyph>, classes> const all{{
        {{{{50, 8}, {70, 20}, {76, 50}, {70, 80}, {50, 92}, {30, 80}, {24, 50}, {30, 20}, {50, 8}}}},
        {{{{34, 26}, {52, 10}, {52, 90}}}, {{{50, 8}, {50, 92}}},
         {{{34, 28}, {50, 10}, {50, 90}}, {{32, 90}, {68, 90}}}},
        {{{{26, 28}, {38, 10}, {62, 10}, {74, 26}, {68, 46}, {26, 90}, {76, 90}}},
         {{{28, 24}, {50, 10}, {72, 26}, {50, 62}, {30, 86}, {44, 78}, {60, 90}, {76, 82}}}},
        {{{{26, 18}, {50, 8}, {72, 22}, {68, 40}, {46, 48}, {70, 58}, {74, 78}, {50, 92}, {26, 82}}},
         {{{26, 10}, {72, 10}, {46, 44}, {70, 54}, {74, 76}, {52, 92}, {26, 84}}}},
        {{{{62, 92}, {62, 8}, {22, 64}, {82, 64}}},
         {{{30, 10}, {26, 54}, {74, 54}}, {{70, 12}, {66, 92}}}},
        {{{{74, 10}, {34, 10}, {30, 46}, {54, 40}, {74, 56}, {72, 80}, {50, 92}, {26, 82}}}},
        {{{{66, 12}, {42, 26}, {28, 54}, {32, 82}, {52, 92}, {72, 80}, {70, 60}, {50, 50}, {30, 62}}}},
        {{{{24, 10}, {76, 10}, {44, 92}}},
         {{{24, 12}, {76, 10}, {48, 92}}, {{38, 50}, {74, 50}}}},
        {{{{50, 48}, {32, 36}, {32, 18}, {50, 8}, {68, 18}, {68, 36}, {50, 48}, {72, 64}, {70, 82},
           {50, 92}, {30, 82}, {28, 64}, {50, 48}}}},
        {{{{70, 38}, {50, 50}, {30, 40}, {28, 20}, {50, 8}, {70, 20}, {70, 40}, {66, 70}, {56, 92}}},
         {{{72, 30}, {54, 50}, {30, 42}, {30, 18}, {52, 8}, {72, 18}, {72, 92}}}},
    }};
    // clang-format on
    return all;
}

/// The style of one writer, the same for all strokes of a picture.
struct Hand {
    int width, height;     // of the paper, in pixel units
    int slant;             // x moves by slant/256 of y
    int tilt;              // y moves by tilt/256 of x
    int shift_x, shift_y;  // of the middle
    int wobble;            // per point, in hundredths of the paper
    int radius;            // of the pen
    int ink;               // 0..255

    explicit Hand(Random& random)
        : width(random.between(10, 14) * unit), height(random.between(12, 15) * unit),
          slant(random.between(-70, 70)), tilt(random.between(-40, 40)),
          shift_x(random.between(-350, 350)), shift_y(random.between(-350, 350)),
          wobble(random.between(1, 5)), radius(random.between(100, 260)),
          ink(random.between(150, 255)) {}

    Point place(Point point, Random& random) const {
        int const x = (point.x - middle + random.between(-wobble, wobble)) * width / 100;
        int const y = (point.y - middle + random.between(-wobble, wobble)) * height / 100;
        return {side * unit / 2 + shift_x + x - slant * y / 256,
                side * unit / 2 + shift_y + y + tilt * x / 256};
    }
};

struct Segment {
    Point from, to;
};

std::int64_t square(std::int64_t value) { return value * value; }

std::int64_t distance_squared(Point p, Segment const& s) {
    std::int64_t const dx = s.to.x - s.from.x, dy = s.to.y - s.from.y;
    std::int64_t const length = std::max<std::int64_t>(dx * dx + dy * dy, 1);
    std::int64_t const along =
        std::clamp<std::int64_t>((p.x - s.from.x) * dx + (p.y - s.from.y) * dy, 0, length);
    return square(p.x - s.from.x - dx * along / length) +
           square(p.y - s.from.y - dy * along / length);
}

int square_root(std::int64_t value) {
    std::int64_t root = 0;
    for (std::int64_t bit = std::int64_t{1} << 20; bit > 0; bit >>= 1)
        if (square(root + bit) <= value) root += bit;
    return static_cast<int>(root);
}

/// Returns the ink at a pixel, 0..255: full within the pen's radius, fading over one pixel.
int ink_at(Point pixel, std::vector<Segment> const& segments, Hand const& hand) {
    auto nearest = std::numeric_limits<std::int64_t>::max();
    for (auto const& segment : segments)
        nearest = std::min(nearest, distance_squared(pixel, segment));
    return hand.ink * std::clamp(hand.radius + unit / 2 - square_root(nearest), 0, unit) / unit;
}

void draw(std::uint8_t digit, Random& random, std::vector<float>& pixels) {
    Hand const hand(random);
    auto const& ways = glyphs()[digit];
    auto const& glyph = ways[random.below(static_cast<std::uint32_t>(ways.size()))];
    std::vector<Segment> segments;
    for (auto const& stroke : glyph) {
        Point last = hand.place(stroke.front(), random);
        for (std::size_t i = 1; i < stroke.size(); ++i) {
            Point const next = hand.place(stroke[i], random);
            segments.push_back({last, next});
            last = next;
        }
    }
    for (int row = 0; row < side; ++row) {
        for (int column = 0; column < side; ++column) {
            Point const centre{column * unit + unit / 2, row * unit + unit / 2};
            int const noise = random.between(-20, 20) + random.between(-20, 20);
            int const value = std::clamp(ink_at(centre, segments, hand) + noise, 0, 255);
            pixels.push_back(static_cast<float>(value) / 255.0f);
        }
    }
}

Examples draw_many(std::size_t count, Random random) {
    Examples examples{.features = side * side};
    examples.pixels.reserve(count * examples.features);
    for (std::size_t i = 0; i < count; ++i) {
        auto const digit = static_cast<std::uint8_t>(random.below(classes));
        draw(digit, random, examples.pixels);
        examples.labels.push_back(digit);
    }
    return examples;
}

}  // namespace

Dataset synthetic_digits(std::uint64_t seed, SyntheticSizes const& sizes) {
    return {"synthetic", draw_many(sizes.train, Random(seed, 1)),
            draw_many(sizes.test, Random(seed, 2))};
}

}  // namespace sgd_digits
