// Times one volume of made-up bytes, streamed through a server or run in this process.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "primitives/core/primitive.hpp"
#include "server/jobs/model_server.hpp"

namespace znni::bench {

struct ServedVolume {
  std::string model;
  Vec3 n;             // extent of its one channel; input and output are uint8
  bool same = false;  // true: the output must equal the input, as far as PlaneMaker compares
};

struct Spent {
  Seconds wall = 0;       // from the first byte sent to the last received
  Seconds processor = 0;  // processor time of this process meanwhile
  StageSeconds stages;    // stages of a job in this process
};

// Streams the volume to the server at HOST:PORT and back. Fails with `internal` if planes differ that must not, and
// with the stream's errors.
[[nodiscard]] Result<Spent> stream_volume(const std::string& address, const ServedVolume& volume);

// Runs the same job without the wire: the volume and its output are in memory. Compares nothing.
[[nodiscard]] Result<Spent> run_volume(ModelServer& models, const ServedVolume& volume);

// Makes planes of such a volume. They differ only at their ends, so that making them takes next to no time.
class PlaneMaker {
 public:
  explicit PlaneMaker(Vec3 n);
  // Returns the bytes of one plane.
  [[nodiscard]] std::size_t bytes() const { return plane_.size(); }
  void make(std::int64_t z, std::span<std::byte> plane) const;
  // Returns whether `plane` is plane `z`. Compares both ends, and every sixteenth plane in full.
  [[nodiscard]] bool is_plane(std::int64_t z, std::span<const std::byte> plane) const;

 private:
  std::vector<std::byte> plane_;
};

}  // namespace znni::bench
