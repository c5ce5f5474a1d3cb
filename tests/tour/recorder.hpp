// Records the functions of Couplet that a trip enters (compiled with -finstrument-functions), and prints their layers
// in the order in which the trip first reaches them.
#pragma once

#include <string>
#include <vector>

namespace tour {

void start();
// Returns one line for each function: the layer, then the function, each once, in the order of the first visit.
std::vector<std::string> stop();

}  // namespace tour
