// What the solver is told on its command line, as name=value.
#ifndef BLOODFLOW_OPTIONS_HPP
#define BLOODFLOW_OPTIONS_HPP

#include <cstdint>
#include <string>

namespace bloodflow {

struct Options {
  std::string shape = "bifurcation";  // or tube, closed
  double radius = 7;                  // inlet's, in lattice units
  double viscosity = 0.04;
  double inflow = 0.04;  // mean speed at the inlet
  std::uint64_t rounds = 2000;
  std::string commands = {};  // round:inflow:angle, ...; given by rank 0 if there is no viewer
  std::uint64_t frame_every = 40;
  int pixels = 4;  // for each lattice unit
  std::uint64_t check_every = 10;
  bool merge_waits = true;
  bool merge_messages = true;
  std::string method = "auto";
  std::uint64_t repartition_at = 0;  // 0: never
  std::uint64_t save_every = 0;      // 0: never; frame_every and check_every divide it
  bool restart = false;              // goes on from the newest saved state, if there is one
  std::uint64_t die_at = 0;          // the last rank kills itself before this round, unless it has been started again
  bool viewer = false;               // a program "viewer" takes part
  std::string output = "output";
  int table = 0;  // pairs of runs for the table of times; 0: one run
};

// Throws std::invalid_argument if an option does not exist, or its value is out of range.
Options read_options(int count, char** words);

}  // namespace bloodflow

#endif
