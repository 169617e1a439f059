// Finds what changes in a model repository, for a server that polls it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "server/models/model_repository.hpp"

namespace znni {

// For each model its newest version, and name, size and time of its configuration and of the files of that version.
using RepositoryState = std::map<std::string, std::string>;
[[nodiscard]] RepositoryState repository_state(const std::vector<ModelEntry>& entries);

// Names of models, in order.
struct RepositoryChanges {
  std::vector<std::string> changed;  // new ones among them
  std::vector<std::string> removed;
  bool operator==(const RepositoryChanges&) const = default;
};

class RepositoryWatch {
 public:
  // Begins with what the server was started with.
  explicit RepositoryWatch(RepositoryState known) : known_(known), last_(std::move(known)) {}
  // Takes the next state of the repository. Returns what differs from what was known, if the state before says the same
  // of it: of a file that is being copied, the next state says something else. That is known from then on.
  [[nodiscard]] RepositoryChanges look(RepositoryState now);

 private:
  RepositoryState known_;
  RepositoryState last_;
};

}  // namespace znni
