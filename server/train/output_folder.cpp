#include "server/train/output_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <system_error>
#include <utility>

#include "planner/base/repository.hpp"
#include "primitives/core/write_atomically.hpp"
#include "proto/convert/network_file.hpp"
#include "server/train/optimizer.hpp"

namespace znni {
namespace {

namespace fs = std::filesystem;

bool are_equal(const LoadedNetwork& a, const LoadedNetwork& b) {
  return describe(a.network) == describe(b.network) && have_equal_bits(a.weights, b.weights);
}

// Returns nothing if the model has no version.
std::optional<ModelVersion> newest_version(const fs::path& folder) {
  const fs::path model = fs::absolute(folder / ".").lexically_normal().parent_path();
  const Result<std::vector<ModelVersion>> all = list_models(model.parent_path());
  if (!all) return std::nullopt;
  std::optional<ModelVersion> newest;
  for (const ModelVersion& each : *all) {
    if (each.model == model.filename()) newest = each;  // they are in order
  }
  return newest;
}

}  // namespace

std::string checkpoint_file(const fs::path& folder) { return (folder / "checkpoint").string(); }

std::string best_file(const fs::path& folder) { return (folder / "best").string(); }

std::string log_file(const fs::path& folder) { return (folder / "train.jsonl").string(); }

std::string curve_file(const fs::path& folder) { return (folder / "curve.svg").string(); }

Result<FileHandle> lock_output(const fs::path& folder) {
  constexpr mode_t for_its_user = 0600;
  const std::string path = (folder / ".lock").string();
  if (Result<void> made = check_writable(path); !made) return made.error();
  FileHandle file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, for_its_user));
  if (!file.is_open() || ::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    return Error{ErrorCode::unavailable,
                 folder.string() + ": another znni-train trains there; wait for its end, or give another --output"};
  }
  remove_unfinished(checkpoint_file(folder));
  remove_unfinished(best_file(folder));
  remove_unfinished(log_file(folder));
  remove_unfinished(curve_file(folder));
  return file;
}

Result<std::optional<Checkpoint>> find_checkpoint(const fs::path& folder, const std::string& training) {
  const std::string path = checkpoint_file(folder);
  Result<Checkpoint> found = read_checkpoint(path);
  if (!found && found.error().code == ErrorCode::not_found) return std::optional<Checkpoint>();
  if (!found) return found.error();
  if (found->training != training) return other_checkpoint(path, "training");
  return std::optional(*std::move(found));
}

Result<void> remove_checkpoint(const fs::path& folder) {
  bool removed = false;
  for (const std::string& path : {checkpoint_file(folder), best_file(folder)}) {
    std::error_code error;
    removed = fs::remove(path, error) || removed;
    if (error) return Error{ErrorCode::invalid_argument, path + ": cannot be removed: " + error.message()};
  }
  return removed ? sync_file(folder.string()) : Result<void>();
}

std::optional<std::string> newest_version_if(const LoadedNetwork& served, const fs::path& folder) {
  const std::optional<ModelVersion> newest = newest_version(folder);
  if (!newest) return std::nullopt;
  const NetworkReading reading = {.max_weight_bytes = weight_bytes(served.network), .outputs = {}};
  const Result<LoadedNetwork> read = read_network_file(newest->file.string(), reading);
  return read && are_equal(*read, served) ? std::optional(newest->version) : std::nullopt;
}

}  // namespace znni
