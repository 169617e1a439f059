// One volume of made-up bytes, streamed through a server or run in this process: how long it takes.
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
  Vec3 n;             // of its one image, uint8, as is the output
  bool same = false;  // the output must be the input, as far as PlaneMaker compares
};

struct Spent {
  Seconds wall = 0;       // from the first byte given to the last received
  Seconds processor = 0;  // of this process meanwhile
  StageSeconds stages;    // of a job in this process
};

// To the server at HOST:PORT and back. `internal` when what should be the same is not; else the stream's errors.
[[nodiscard]] Result<Spent> stream_volume(const std::string& address, const ServedVolume& volume);

// The same job without the wire: the volume and its output lie in memory. Nothing is compared.
[[nodiscard]] Result<Spent> run_volume(ModelServer& models, const ServedVolume& volume);

// Planes of such a volume: they differ at their ends alone, so that making them takes next to no time.
class PlaneMaker {
 public:
  explicit PlaneMaker(Vec3 n);
  // Bytes of one.
  [[nodiscard]] std::size_t bytes() const { return plane_.size(); }
  void make(std::int64_t z, std::span<std::byte> plane) const;
  // Whether `plane` is plane `z`: both ends are compared, and of every sixteenth all of it.
  [[nodiscard]] bool is_plane(std::int64_t z, std::span<const std::byte> plane) const;

 private:
  std::vector<std::byte> plane_;
};

}  // namespace znni::bench
