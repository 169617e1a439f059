#include "server/train/final_versions.hpp"

#include <utility>

#include "server/train/output_folder.hpp"

namespace znni {
namespace {

// The weights of the best validation, as they are served.
struct Best {
  LoadedNetwork served;
  std::int64_t step = 0;
};

// Returns nothing if the best weights are not kept, or are those of the last step. It is called again where it is
// needed, because the weights are not held while others are written.
Result<std::optional<Best>> best_of(const EndedTraining& ended) {
  if (!ended.keeps_best) return std::optional<Best>();
  const Result<std::optional<Checkpoint>> found = find_best(best_file(ended.folder), ended.training, ended.steps);
  if (!found) return found.error();
  if (!*found || have_equal_bits((*found)->weights, ended.trained.loaded.weights)) return std::optional<Best>();
  return std::optional(Best{with_weights(ended.trained, (*found)->weights), (*found)->steps});
}

// Returns the version that a run that was killed has written of the network.
std::optional<std::string> written_before(const EndedTraining& ended, const LoadedNetwork& served) {
  return ended.did_steps ? std::nullopt : newest_version_if(served, ended.folder);
}

Result<std::string> write_last(const EndedTraining& ended) {
  const LoadedNetwork served = with_weights(ended.trained, ended.trained.loaded.weights);
  if (std::optional<std::string> written = written_before(ended, served)) return *std::move(written);
  return write_model_version(served, ended.folder, ended.scale);
}

}  // namespace

Result<FinalVersions> write_final_versions(const EndedTraining& ended) {
  {
    const Result<std::optional<Best>> best = best_of(ended);
    if (!best) return best.error();
    if (*best) {
      std::optional<std::string> written = written_before(ended, (*best)->served);
      if (written) return FinalVersions{*std::move(written), (*best)->step};
    }
  }
  Result<std::string> last = write_last(ended);
  if (!last) return last.error();
  const Result<std::optional<Best>> best = best_of(ended);
  if (!best) return best.error();
  if (!*best) return FinalVersions{*std::move(last), {}};
  Result<std::string> version = write_model_version((*best)->served, ended.folder, ended.scale);
  if (!version) return version.error();
  return FinalVersions{*std::move(version), (*best)->step};
}

}  // namespace znni
