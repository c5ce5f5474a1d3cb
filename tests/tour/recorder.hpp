// Records the functions of Couplet that a trip enters (compiled with -finstrument-functions), and prints the layers they
// belong to, in the order in which the trip first comes by.
#pragma once

#include <string>
#include <vector>

namespace tour {

void start();
// One line per function: the layer, then the function, each once, in the order of the first visit.
std::vector<std::string> stop();

}  // namespace tour
