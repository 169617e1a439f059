// Progress of one stream on stderr: one line redrawn on a terminal, a plain line now and then elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace znni::client {

struct ProgressFacts {
  std::int64_t patches_done = 0;
  std::int64_t patches = 0;
  double seconds = 0;      // since the start
  double voxels_done = 0;  // dense output voxels
  double part = 0;         // of the patches under way together, in patches
  // Where the output has several parts these are the patches of one: how much of all the work they are, behind how
  // much.
  double before = 0;
  double span = 1;
  std::int64_t number = 1;  // of the part, from 1
  std::int64_t parts = 1;
};

// "[=====>    ]  12/40 patches  1.24 Mvox/s  0:41 left"
[[nodiscard]] std::string progress_line(const ProgressFacts& facts);
// "0:41", "2:03:09"
[[nodiscard]] std::string duration_text(double seconds);

enum class ProgressStyle { none, bar, lines };
// bar when stderr is a terminal, lines otherwise.
[[nodiscard]] ProgressStyle style_for_stderr();

class Progress {
 public:
  // `voxels` dense output voxels in all.
  Progress(ProgressStyle style, double voxels);
  // From now on the patches are those of a part of so many voxels.
  void begin_part(std::int64_t number, std::int64_t parts, double voxels);
  void show(std::int64_t patches_done, std::int64_t patches, double part = 0);
  // In place of the line.
  void say(const std::string& text);
  // Also where no progress is shown.
  void announce(const std::string& text);
  // Ends the redrawn line.
  void end();

 private:
  void draw(const std::string& line);
  using Clock = std::chrono::steady_clock;
  ProgressStyle style_;
  double voxels_;
  ProgressFacts facts_;   // of the part
  double under_way_ = 0;  // of all the work, by begin_part()
  Clock::time_point start_;
  Clock::time_point last_;
  bool drawn_ = false;
};

}  // namespace znni::client
