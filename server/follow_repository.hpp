// Lets a server of models follow its repository.
#pragma once

#include <functional>
#include <stop_token>

namespace znni {

// Calls `poll` again and again, `seconds` after it has returned, until `stop`.
void follow_repository(const std::function<void(const std::stop_token&)>& poll, double seconds,
                       const std::stop_token& stop);

}  // namespace znni
