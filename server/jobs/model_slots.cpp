#include "server/jobs/model_slots.hpp"

#include <algorithm>
#include <utility>

namespace znni {

void ModelSlots::put(Handle slot) {
  const std::lock_guard lock(mutex_);
  const auto same = [&](const Handle& other) { return other->entry().name == slot->entry().name; };
  const auto found = std::find_if(slots_.begin(), slots_.end(), same);
  if (found == slots_.end()) {
    slots_.push_back(std::move(slot));
  } else {
    *found = std::move(slot);
  }
}

void ModelSlots::remove(const std::string& name) {
  const std::lock_guard lock(mutex_);
  std::erase_if(slots_, [&](const Handle& slot) { return slot->entry().name == name; });
}

std::vector<ModelSlots::Handle> ModelSlots::all() const {
  const std::lock_guard lock(mutex_);
  return slots_;
}

Result<ModelSlots::Handle> ModelSlots::find(const std::string& name, const std::string& version) const {
  std::vector<Handle> slots = all();
  for (Handle& slot : slots) {
    if (slot->entry().name != name) continue;
    if (version.empty() || version == slot->entry().version) return std::move(slot);
    return Error{ErrorCode::not_found, "Request for unknown model: '" + name + "' has no version '" + version +
                                           "', it serves version " + slot->entry().version};
  }
  return Error{ErrorCode::not_found, "Request for unknown model: '" + name + "' is not found"};
}

}  // namespace znni
