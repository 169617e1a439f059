#include "server/pipeline/rung_places.hpp"

#include <gtest/gtest.h>

namespace znni {
namespace {

// Returns a rung of `bytes` transient bytes, with histories at these places.
LadderRung design(std::int64_t bytes, const std::vector<ByteRange>& histories = {}) {
  LadderRung rung;
  RungDesign& made = rung.cpu.emplace();
  made.packing.bytes = bytes;
  for (const ByteRange& history : histories) {
    ScheduledHistory scheduled;
    scheduled.buffer = static_cast<int>(made.whole.schedule.memory.size());
    made.whole.schedule.histories.push_back(scheduled);
    Buffer buffer;
    buffer.bytes = history.bytes;
    made.whole.schedule.memory.push_back(buffer);
    made.packing.offsets.push_back(history.first);
  }
  return rung;
}

constexpr std::int64_t unit = buffer_alignment;

TEST(RungPlaces, WithoutStreamsAllBeginAtTheStart) {
  const std::vector<RungPlace> places = place_rungs({design(9 * unit), design(4 * unit)});
  EXPECT_EQ(places[0].memory, (ByteRange{0, 9 * unit}));
  EXPECT_EQ(places[1].memory, (ByteRange{0, 4 * unit}));
  EXPECT_FALSE(places[0].beside_streams || places[1].beside_streams);
}

TEST(RungPlaces, SmallRungsKeepClearOfHistories) {
  const LadderRung stream = design(20 * unit, {{9 * unit, unit}, {2 * unit, 2 * unit - 5}});
  const std::vector<RungPlace> places =
      place_rungs({stream, design(11 * unit), design(10 * unit), design(5 * unit), design(2 * unit)});
  EXPECT_FALSE(places[0].beside_streams);
  EXPECT_FALSE(places[1].beside_streams) << "no gap is so large";
  EXPECT_EQ(places[1].memory.first, 0);
  EXPECT_EQ(places[2].memory.first, 10 * unit);
  EXPECT_EQ(places[3].memory.first, 4 * unit);
  EXPECT_EQ(places[4].memory.first, 0);
  for (const std::size_t i : {2U, 3U, 4U}) EXPECT_TRUE(places[i].beside_streams) << i;
}

TEST(RungPlaces, OneWithAGpuTakesNothingOfTheBlock) {
  const std::vector<RungPlace> places = place_rungs({LadderRung{}, design(4 * unit, {{0, unit}}), design(2 * unit)});
  EXPECT_EQ(places[0].memory, (ByteRange{0, 0}));
  EXPECT_FALSE(places[0].beside_streams);
  EXPECT_EQ(places[2].memory.first, unit);
}

TEST(RungPlaces, WhatAStreamWithAGpuKeepsIsInNobodysWay) {
  LadderRung split;
  split.split_streamed = true;
  const std::vector<RungPlace> places = place_rungs({split, design(4 * unit)});
  EXPECT_FALSE(places[0].beside_streams);
  EXPECT_EQ(places[1].memory, (ByteRange{0, 4 * unit}));
  EXPECT_TRUE(places[1].beside_streams);
}

TEST(RungPlaces, OfAllStreamsTogether) {
  const std::vector<RungPlace> places =
      place_rungs({design(10 * unit, {{0, 4 * unit}}), design(8 * unit, {{2 * unit, 4 * unit}}), design(4 * unit)});
  EXPECT_EQ(places[2].memory, (ByteRange{6 * unit, 4 * unit}));
  EXPECT_TRUE(places[2].beside_streams);
}

}  // namespace
}  // namespace znni
