#include "tests/gpu_bench/promising.hpp"

#include <gtest/gtest.h>

#include <string>

namespace znni::gpu_bench {
namespace {

const Primitive library{"gpu.vendor", 1, DeviceKind::gpu, nullptr, nullptr};
const Primitive own{"gpu.own", 1, DeviceKind::gpu, nullptr, nullptr};

Candidate way(const Primitive& primitive, const Variant& variant, Seconds time) {
  return {&primitive, {variant, {}, {}, time, {}}, 0};
}

std::string order(const std::vector<Candidate>& found) {
  std::string text;
  for (const Candidate& one : found) {
    text += (text.empty() ? "" : " | ") + std::string(one.primitive->name) + " " + to_string(one.estimate.variant);
  }
  return text;
}

TEST(MostPromising, EveryFormAndEngineComesBeforeAnotherSettingOfOne) {
  const std::vector<Candidate> all = {way(library, {{"form", 1}, {"engine", 10}, {"knob 2", 1}}, 1.0),
                                      way(library, {{"form", 1}, {"engine", 10}, {"knob 2", 2}}, 1.1),
                                      way(library, {{"form", 1}, {"engine", 41}}, 1.2),
                                      way(library, {{"form", 0}, {"engine", 10}}, 1.3),
                                      way(own, {{"tile", 32}}, 2.0),
                                      way(own, {{"tile", 16}}, 1.9)};
  EXPECT_EQ(order(most_promising(all, 5)),
            "gpu.vendor form=1,engine=10,knob 2=1 | gpu.vendor form=1,engine=41 | gpu.vendor form=0,engine=10 | "
            "gpu.own tile=16 | gpu.vendor form=1,engine=10,knob 2=2");
  EXPECT_EQ(most_promising(all, 2).size(), 2U);
  EXPECT_EQ(most_promising(all, 100).size(), all.size());
}

TEST(MostPromising, WhatHasNoHopeStandsBehindOtherSettings) {
  const std::vector<Candidate> all = {way(own, {}, 5.1), way(library, {{"engine", 1}}, 1.0),
                                      way(library, {{"engine", 1}, {"knob 2", 1}}, 1.1)};
  EXPECT_EQ(order(most_promising(all, 3)), "gpu.vendor engine=1 | gpu.vendor engine=1,knob 2=1 | gpu.own ");
}

TEST(MostPromising, OfNothingIsNothing) { EXPECT_TRUE(most_promising({}, 8).empty()); }

}  // namespace
}  // namespace znni::gpu_bench
