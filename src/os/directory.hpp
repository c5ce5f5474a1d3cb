// Directories of the run: private to the user.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace couplet::os {

// Makes the directory (mode 0700; the parents must exist). ok where it exists already, is a directory of this user and
// nobody else may enter it; else an error (system) that says which of these does not hold.
Status make_private_directory(const std::string& path);
// Names in it (without . and ..), sorted. not_found.
Result<std::vector<std::string>> list_directory(const std::string& path);
// ok also where it does not exist.
Status remove_file(const std::string& path);
// The directory and what is in it, not following links. ok also where it does not exist.
Status remove_directory(const std::string& path);
// An unused name in `directory`: "<prefix>-<pid>-<number>".
[[nodiscard]] std::string temporary_name(const std::string& directory, std::string_view prefix);

}  // namespace couplet::os
