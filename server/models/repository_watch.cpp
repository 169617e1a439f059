#include "server/models/repository_watch.hpp"

#include <filesystem>
#include <system_error>
#include <utility>

namespace znni {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& file) {
  std::error_code ignored;
  const auto bytes = fs::file_size(file, ignored);
  const auto changed = fs::last_write_time(file, ignored).time_since_epoch().count();
  return file.string() + " " + std::to_string(bytes) + " " + std::to_string(changed) + "\n";
}

std::string text_of(const ModelEntry& entry) {
  std::string text = entry.version + "\n" + text_of(entry.config_file);
  for (const fs::path& file : files_of(entry)) text += text_of(file);
  return text;
}

bool is_same(const RepositoryState& state, const std::string& name, const std::string& text) {
  const auto found = state.find(name);
  return found != state.end() && found->second == text;
}

}  // namespace

RepositoryState repository_state(const std::vector<ModelEntry>& entries) {
  RepositoryState state;
  for (const ModelEntry& entry : entries) state[entry.name] = entry.problem.empty() ? text_of(entry) : entry.problem;
  return state;
}

RepositoryChanges RepositoryWatch::look(RepositoryState now) {
  RepositoryChanges changes;
  for (const auto& [name, text] : now) {
    if (is_same(last_, name, text) && !is_same(known_, name, text)) changes.changed.push_back(name);
  }
  for (const auto& [name, text] : known_) {
    if (!now.contains(name) && !last_.contains(name)) changes.removed.push_back(name);
  }
  for (const std::string& name : changes.changed) known_[name] = now[name];
  for (const std::string& name : changes.removed) known_.erase(name);
  last_ = std::move(now);
  return changes;
}

}  // namespace znni
