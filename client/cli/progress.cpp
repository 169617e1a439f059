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

// Returns the share of all work that is done, 0 to 1.
double share_of(const ProgressFacts& facts) {
  if (facts.patches <= 0) return facts.before;
  const double done = static_cast<double>(facts.patches_done) + std::max(facts.part, 0.0);
  return std::min(facts.before + facts.span * std::min(done / static_cast<double>(facts.patches), 1.0), 1.0);
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
  const double share = share_of(facts);
  const int filled = std::clamp(static_cast<int>(share * bar_width), 0, bar_width);
  std::string bar(static_cast<std::size_t>(filled), '=');
  if (filled < bar_width) bar += '>';
  bar.resize(bar_width, ' ');
  const double rate = facts.seconds > 0 ? facts.voxels_done / facts.seconds / 1e6 : 0;
  std::array<char, 96> numbers{};
  std::snprintf(numbers.data(), numbers.size(), "  %lld/%lld patches  %.3f Mvox/s",
                static_cast<long long>(facts.patches_done), static_cast<long long>(facts.patches), rate);
  std::string line = "[" + bar + "]";
  if (facts.parts > 1) line += "  part " + std::to_string(facts.number) + "/" + std::to_string(facts.parts);
  line += numbers.data();
  if (share > 0) line += "  " + duration_text(facts.seconds / share - facts.seconds) + " left";
  return line;
}

ProgressStyle style_for_stderr() { return isatty(STDERR_FILENO) != 0 ? ProgressStyle::bar : ProgressStyle::lines; }

Progress::Progress(ProgressStyle style, double voxels)
    : style_(style), voxels_(voxels), start_(Clock::now()), last_(start_) {}

void Progress::begin_part(std::int64_t number, std::int64_t parts, double voxels) {
  facts_.before += under_way_;
  facts_.span = under_way_ = voxels / std::max(voxels_, 1.0);
  facts_.number = number;
  facts_.parts = parts;
}

void Progress::show(std::int64_t patches_done, std::int64_t patches, double part) {
  const Clock::time_point now = Clock::now();
  const bool due =
      now - last_ >= (style_ == ProgressStyle::bar ? Clock::duration(redraw) : Clock::duration(line_every));
  if (style_ == ProgressStyle::none || (!due && patches_done < patches)) return;
  last_ = now;
  facts_.patches_done = patches_done;
  facts_.patches = patches;
  facts_.part = part;
  facts_.seconds = std::chrono::duration<double>(now - start_).count();
  facts_.voxels_done = voxels_ * share_of(facts_);
  draw(progress_line(facts_));
}

void Progress::say(const std::string& text) {
  if (style_ != ProgressStyle::none) draw(text);
}

void Progress::announce(const std::string& text) { draw(style_ == ProgressStyle::none ? "znni: " + text : text); }

void Progress::draw(const std::string& line) {
  std::fprintf(stderr, style_ == ProgressStyle::bar ? "\r%s\x1b[K" : "%s\n", line.c_str());
  drawn_ = style_ == ProgressStyle::bar;
}

void Progress::end() {
  if (drawn_) std::fputc('\n', stderr);
  drawn_ = false;
}

}  // namespace znni::client
