// Directories of the run, which only the user may enter.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace couplet::os {

// Makes the directory with mode 0700; its parents must exist. Returns ok if it exists already, is a directory of this
// user, and no other user may enter it. Otherwise returns a system error that says which of these does not hold.
Status make_private_directory(const std::string& path);
// Returns the names in it (without . and ..), sorted, or not_found.
Result<std::vector<std::string>> list_directory(const std::string& path);
// Removes the file. Also returns ok if it does not exist.
Status remove_file(const std::string& path);
// Removes the directory and its contents, without following links. Also returns ok if it does not exist.
Status remove_directory(const std::string& path);
// Returns an unused name in `directory`: "<prefix>-<pid>-<number>".
[[nodiscard]] std::string temporary_name(const std::string& directory, std::string_view prefix);

}  // namespace couplet::os
