// Progress of one stream on stderr: one line redrawn on a terminal, a plain line now and then elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace znni::client {

struct ProgressFacts {
  std::int64_t patches_done = 0;
  std::int64_t patches = 0;
  double seconds = 0;  // since the start
  double voxels = 0;   // dense output voxels of the whole job
  double part = 0;     // progress of all patches under way, in patches
  // If the output has several parts, the patches above are those of one part. `span` is the part's share of all work,
  // `before` the share of the parts before it.
  double before = 0;
  double span = 1;
  std::int64_t number = 1;  // of the part, from 1
  std::int64_t parts = 1;
};

// Returns "[=====>    ]  1.23/4.10 M voxels  0.124 M voxels/s  0:41 left", in less than `columns`: the bar becomes as
// short as it must, and what is left is cut. Patches are counted where voxels are not known.
[[nodiscard]] std::string progress_line(const ProgressFacts& facts, int columns = 80);
// Returns "0:41", "2:03:09".
[[nodiscard]] std::string duration_text(double seconds);

enum class ProgressStyle { none, bar, lines };
// Returns `bar` if stderr is a terminal, otherwise `lines`.
[[nodiscard]] ProgressStyle style_for_stderr();

class Progress {
 public:
  // Counts towards `voxels`, the number of dense output voxels of the whole job.
  Progress(ProgressStyle style, double voxels);
  // Begins a part of `voxels` output voxels, to which the patches of show() belong from now on.
  void begin_part(std::int64_t number, std::int64_t parts, double voxels);
  void show(std::int64_t patches_done, std::int64_t patches, double part = 0);
  // Tells why nothing happens yet: redrawn on a terminal; elsewhere in one line for all calls up to the next show().
  void wait(const std::string& text);
  // Ends the redrawn line.
  void end();

 private:
  void draw(const std::string& line);
  using Clock = std::chrono::steady_clock;
  ProgressStyle style_;
  double voxels_;
  ProgressFacts facts_;   // of the current part
  double under_way_ = 0;  // share of all work that begin_part() has begun
  Clock::time_point start_;
  Clock::time_point last_;
  bool drawn_ = false;
  bool waits_ = false;  // wait() was called last
};

}  // namespace znni::client
