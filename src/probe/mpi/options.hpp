// The command line of couplet-probe.
#pragma once

#include <string>

#include "probe/design.hpp"

namespace couplet::probe {

// Reads the options of `count` words. Returns what is wrong with them, or an empty text.
std::string parse_options(int count, char** words, Options& options);

extern const char* const usage;

}  // namespace couplet::probe
