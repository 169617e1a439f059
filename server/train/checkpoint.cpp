#include "server/train/checkpoint.hpp"

#include <bit>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "planner/base/fingerprint.hpp"
#include "primitives/core/write_atomically.hpp"
#include "proto/convert/base/read_file.hpp"
#include "server/train/weight_parts.hpp"

namespace znni {
namespace {

// The file: this line, the fields below in order, numbers as the processor has them, and the fingerprint of all that.
constexpr std::string_view first_line = "znni-train checkpoint 3\n";
constexpr std::size_t sum_bytes = 32;

std::string sum_of(std::string_view bytes) {
  Fingerprint fingerprint;
  fingerprint.add(bytes);
  return fingerprint.text();
}

class Writer {
 public:
  explicit Writer(std::string& bytes) : bytes_(bytes) {}

  void number(std::int64_t value) { raw(&value, sizeof value); }
  void text(std::string_view value) {
    number(static_cast<std::int64_t>(value.size()));
    bytes_ += value;
  }
  void weights(const NetworkWeights& nodes) {
    number(static_cast<std::int64_t>(nodes.size()));
    for (const NodeWeights& node : nodes) {
      for (const auto part : weight_parts) {
        number(static_cast<std::int64_t>((node.*part).size()));
        raw((node.*part).data(), (node.*part).size() * sizeof(float));
      }
    }
  }

 private:
  void raw(const void* data, std::size_t size) { bytes_.append(static_cast<const char*>(data), size); }

  std::string& bytes_;
};

// Reads what a Writer wrote. Once something is not there, all that follows is empty and is_sound() is false.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}

  std::int64_t number() {
    std::int64_t value = 0;
    const std::string_view own = take(1, sizeof value);
    if (!own.empty()) std::memcpy(&value, own.data(), sizeof value);
    return value;
  }
  std::string text() { return std::string(take(number(), 1)); }
  NetworkWeights weights() {
    NetworkWeights nodes;
    const std::int64_t count = number();
    for (std::int64_t i = 0; i < count && sound_; ++i) {
      NodeWeights& node = nodes.emplace_back();
      for (const auto part : weight_parts) {
        const std::string_view own = take(number(), sizeof(float));
        (node.*part).resize(own.size() / sizeof(float));
        if (!own.empty()) std::memcpy((node.*part).data(), own.data(), own.size());
      }
    }
    return nodes;
  }
  [[nodiscard]] bool is_sound() const { return sound_ && left_.empty(); }

 private:
  std::string_view take(std::int64_t count, std::size_t size) {
    const auto most = static_cast<std::int64_t>(left_.size() / size);
    sound_ = sound_ && count >= 0 && count <= most;
    if (!sound_) return {};
    const std::string_view taken = left_.substr(0, static_cast<std::size_t>(count) * size);
    left_.remove_prefix(taken.size());
    return taken;
  }

  std::string_view left_;
  bool sound_ = true;
};

std::size_t size_of(std::string_view text) { return sizeof(std::int64_t) + text.size(); }

std::size_t size_of(const NetworkWeights& nodes) {
  std::size_t bytes = sizeof(std::int64_t);
  for (const NodeWeights& node : nodes) {
    for (const auto part : weight_parts) bytes += sizeof(std::int64_t) + (node.*part).size() * sizeof(float);
  }
  return bytes;
}

// Returns the bytes of the whole file.
std::size_t size_of(const Checkpoint& checkpoint) {
  const TrainedWith& with = checkpoint.with;
  const OptimizerState& optimizer = checkpoint.optimizer;
  std::size_t bytes = first_line.size() + sum_bytes + 3 * sizeof(std::int64_t);
  for (const std::string* text :
       {&checkpoint.training, &checkpoint.written_as, &with.volumes, &with.plan, &with.limits})
    bytes += size_of(*text);
  for (const NetworkWeights* weights : {&checkpoint.weights, &optimizer.first, &optimizer.second})
    bytes += size_of(*weights);
  return bytes;
}

// The text is reserved as a whole: one that grows has twice the bytes for a while.
std::string bytes_of(const Checkpoint& checkpoint) {
  std::string bytes;
  bytes.reserve(size_of(checkpoint));
  bytes += first_line;
  Writer writer(bytes);
  writer.text(checkpoint.training);
  writer.number(checkpoint.steps);
  writer.text(checkpoint.written_as);
  writer.text(checkpoint.with.volumes);
  writer.text(checkpoint.with.plan);
  writer.text(checkpoint.with.limits);
  writer.number(std::bit_cast<std::int64_t>(checkpoint.merit));
  writer.weights(checkpoint.weights);
  writer.number(checkpoint.optimizer.updates);
  writer.weights(checkpoint.optimizer.first);
  writer.weights(checkpoint.optimizer.second);
  bytes += sum_of(bytes);
  ensure(bytes.size() == size_of(checkpoint), "a checkpoint has other bytes than were reserved");
  return bytes;
}

std::optional<Checkpoint> checkpoint_of(std::string_view bytes) {
  Reader reader(bytes);
  Checkpoint checkpoint;
  checkpoint.training = reader.text();
  checkpoint.steps = reader.number();
  checkpoint.written_as = reader.text();
  checkpoint.with.volumes = reader.text();
  checkpoint.with.plan = reader.text();
  checkpoint.with.limits = reader.text();
  checkpoint.merit = std::bit_cast<double>(reader.number());
  checkpoint.weights = reader.weights();
  checkpoint.optimizer.updates = reader.number();
  checkpoint.optimizer.first = reader.weights();
  checkpoint.optimizer.second = reader.weights();
  return reader.is_sound() ? std::optional(std::move(checkpoint)) : std::nullopt;
}

Error refuse(const std::string& path, std::string_view why) {
  return {ErrorCode::corrupt_file, path + ": " + std::string(why) + "; move it away to train from the start"};
}

}  // namespace

Error other_checkpoint(const std::string& path, std::string_view what) {
  return {ErrorCode::invalid_argument,
          path + ": a checkpoint of another " + std::string(what) +
              "; give the network and the configuration of that one, another --output, or --restart"};
}

Result<void> write_checkpoint(const std::string& path, const Checkpoint& checkpoint) {
  return write_atomically(path, bytes_of(checkpoint));
}

Result<Checkpoint> read_checkpoint(const std::string& path) {
  const Result<std::string> bytes = read_file(path, std::numeric_limits<std::int64_t>::max());
  if (!bytes) return bytes.error();
  const std::string_view all = *bytes;
  if (!all.starts_with(first_line)) return refuse(path, "no checkpoint of this znni-train");
  if (all.size() < first_line.size() + sum_bytes) return refuse(path, "a checkpoint that was cut");
  const std::string_view summed = all.substr(0, all.size() - sum_bytes);
  if (all.substr(summed.size()) != sum_of(summed)) return refuse(path, "a checkpoint that was cut or changed");
  std::optional<Checkpoint> checkpoint = checkpoint_of(summed.substr(first_line.size()));
  if (!checkpoint) return refuse(path, "a checkpoint with other fields");
  return *std::move(checkpoint);
}

Result<std::optional<Checkpoint>> find_best(const std::string& path, const std::string& training, std::int64_t steps) {
  Result<Checkpoint> best = read_checkpoint(path);
  if (!best && best.error().code == ErrorCode::not_found) return std::optional<Checkpoint>();
  if (!best) return best.error();
  if (best->training != training || best->steps > steps) return std::optional<Checkpoint>();
  return std::optional(*std::move(best));
}

}  // namespace znni
