#include "client/cli/progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

namespace znni::client {
namespace {

constexpr int bar_width = 30;
constexpr std::chrono::milliseconds redraw{100};
constexpr std::chrono::seconds line_every{10};

// Of all the work, 0 to 1.
double share_of(std::int64_t patches_done, std::int64_t patches, double part) {
  if (patches <= 0) return 0;
  return std::min((static_cast<double>(patches_done) + std::max(part, 0.0)) / static_cast<double>(patches), 1.0);
}

}  // namespace

std::string duration_text(double seconds) {
  const auto whole = static_cast<long long>(std::max(seconds, 0.0) + 0.5);
  std::array<char, 40> text{};
  if (whole >= 3600) {
    std::snprintf(text.data(), text.size(), "%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60, whole % 60);
  } else {
    std::snprintf(text.data(), text.size(), "%lld:%02lld", whole / 60, whole % 60);
  }
  return text.data();
}

std::string progress_line(const ProgressFacts& facts) {
  const double share = share_of(facts.patches_done, facts.patches, facts.part);
  const int filled = std::clamp(static_cast<int>(share * bar_width), 0, bar_width);
  std::string bar(static_cast<std::size_t>(filled), '=');
  if (filled < bar_width) bar += '>';
  bar.resize(bar_width, ' ');
  const double rate = facts.seconds > 0 ? facts.voxels_done / facts.seconds / 1e6 : 0;
  std::array<char, 96> numbers{};
  std::snprintf(numbers.data(), numbers.size(), "  %lld/%lld patches  %.3f Mvox/s",
                static_cast<long long>(facts.patches_done), static_cast<long long>(facts.patches), rate);
  std::string line = "[" + bar + "]" + numbers.data();
  if (share > 0) line += "  " + duration_text(facts.seconds / share - facts.seconds) + " left";
  return line;
}

ProgressStyle style_for_stderr() { return isatty(STDERR_FILENO) != 0 ? ProgressStyle::bar : ProgressStyle::lines; }

Progress::Progress(ProgressStyle style, double voxels)
    : style_(style), voxels_(voxels), start_(Clock::now()), last_(start_) {}

void Progress::show(std::int64_t patches_done, std::int64_t patches, double part) {
  const Clock::time_point now = Clock::now();
  const bool due =
      now - last_ >= (style_ == ProgressStyle::bar ? Clock::duration(redraw) : Clock::duration(line_every));
  if (style_ == ProgressStyle::none || (!due && patches_done < patches)) return;
  last_ = now;
  const double share = share_of(patches_done, patches, part);
  const std::string line = progress_line(
      {patches_done, patches, std::chrono::duration<double>(now - start_).count(), voxels_ * share, part});
  std::fprintf(stderr, style_ == ProgressStyle::bar ? "\r%s\x1b[K" : "%s\n", line.c_str());
  drawn_ = style_ == ProgressStyle::bar;
}

void Progress::end() {
  if (drawn_) std::fputc('\n', stderr);
  drawn_ = false;
}

}  // namespace znni::client
