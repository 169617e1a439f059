#include "tests/server/pipeline/streams.hpp"

#include <gtest/gtest.h>

namespace znni::test {

std::string text_of(const GeometryChoice& choice) {
  std::string text = to_string(choice.pass_input) + " axis " + std::to_string(choice.axis) + " stem " +
                     std::to_string(choice.stem_slab);
  for (const PoolingMode& mode : choice.modes) text += " " + to_string(mode);
  return text;
}

GeometryChoice stream_of(const Network& network, std::int64_t planes, std::int64_t step, std::int64_t stem_slab) {
  GeometryChoice choice = test::choice_of(network, PoolMode::fragments, step);
  choice.pass_input.z = planes;
  choice.stem_slab = stem_slab;
  choice.streamed = true;
  return choice;
}

GeometryChoice phases_of(const Network& network, std::int64_t planes, std::int64_t step, int axis) {
  GeometryChoice choice = stream_of(network, planes, step);
  choice.modes.front() = {{1, 2, 2}, false};
  for (const int across : {1, 2}) {
    choice.pass_input[across] = legal_extents(network, choice.modes, across, 400)[static_cast<std::size_t>(step)];
  }
  choice.axis = axis;
  return choice;
}

std::int64_t held_for(std::int64_t planes, const EngineBench& made, const VolumeShape& volume) {
  std::int64_t max_held = 0;
  std::int64_t band = 0;
  for (; band < planes; max_held += 16) {
    const JobEstimate estimate = *made.engine->estimate(volume, ElementType::f32, max_held);
    band = estimate.patch.z - 7;
    const std::int64_t in = estimate.input_planes * volume.n.y * volume.n.x * 4;
    const std::int64_t out = estimate.output.f * band * estimate.output.n.y * estimate.output.n.x * 4;
    EXPECT_TRUE(band == 1 || in + out + estimate.list_bytes <= max_held) << band << " planes";
  }
  return max_held - 16;
}

JobOutcome run_holding(const EngineBench& made, const RandomVolume& volume, std::int64_t max_held) {
  return test::run_job(*made.engine, volume.view(), {}, ElementType::f32, VolumeOrder::channel_major, max_held);
}

}  // namespace znni::test
