// Estimates the likely times of layers from noisy records: a search takes the fastest row, which is the luckiest of
// noisy ones.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "planner/costs/timings.hpp"

namespace znni {

// The noise of a record, from its samples.
struct RowNoise {
  std::size_t samples = 1;
  double variance = 0;  // of the logarithms of the samples, about their mean; of a single one 0
  double waited = 0;    // as TimingRecord has it
};

[[nodiscard]] RowNoise noise_of(const TimingRecord& record);

struct NoisyRow {
  double work = 0;      // above zero
  Seconds seconds = 0;  // above zero
  RowNoise noise;
  // Equal for rows of other curves that a fast size would make fast as well: operation, window and extents.
  std::string extents;
};
using NoisyCurve = std::vector<NoisyRow>;

// Returns the likely seconds of every row of the curves of one way to compute layers. It lies between the row's own
// time and the line through its neighbours. It is nearer to the line the more of the difference is noise, and the less
// is real. All curves together tell how much is noise:
//
//     log likely = log seconds - w r,    w = v / (v + t + l v)
//
// r: above the line through the row's neighbours, whose variance is l times that of a row; v: the variance of the row's
// noise; t: that of what is real in r. If a row has several samples, v is their variance. For single samples it is what
// a smooth law leaves. It is less by what rows of the same extents have in common in several curves, because that is
// real. Neighbours lie on the same side of every jump that noise does not explain. They lie as far away as lines still
// predict rows that are left out. A row that noise does not explain keeps its time, and all rows do where too few tell
// of noise.
[[nodiscard]] std::vector<std::vector<Seconds>> likely_seconds(const std::vector<NoisyCurve>& curves);

}  // namespace znni
